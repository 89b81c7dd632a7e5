"""An agent of HTTP+JSON 0.3 (`agent.py`) behind a running gateway, called by the Python a2a-sdk 1.3.0 in four dialects.

Takes GATEWAY_URL, ADMIN_URL, ADMIN_TOKEN, TENANT and API_KEY of `demo.env`, CHANCERY (the binary) and SAMPLE_PORT, where
the gateway may connect. Imports the agent with the command line, as its card says; every operation that 0.3 has then
goes from each caller through the gateway to the agent, files as bytes included, which this SDK encodes twice there.
"""

import asyncio
import copy
import logging
import os
import pathlib
import sys
import uuid

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types import (
    CancelTaskRequest,
    GetTaskRequest,
    ListTasksRequest,
    Message,
    Part,
    Role,
    SendMessageConfiguration,
    SendMessageRequest,
    SubscribeToTaskRequest,
    TaskState,
)
from a2a.utils.errors import TaskNotCancelableError, TaskNotFoundError, UnsupportedOperationError
from google.protobuf.json_format import ParseDict
from google.protobuf.struct_pb2 import Value

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from checks import Checks, collect, equal, raises, true  # noqa: E402

GATEWAY, TENANT, KEY = (os.environ[name] for name in ("GATEWAY_URL", "TENANT", "API_KEY"))
PORT = int(os.environ["SAMPLE_PORT"])
NAME = "old-http"


def connection(key=None):
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return httpx.AsyncClient(headers=headers, timeout=20, trust_env=False)


def state(task):
    return TaskState.Name(task.status.state)


def message(text, more=()):
    return Message(message_id=str(uuid.uuid4()), role=Role.ROLE_USER, parts=[Part(text=text), *more])


class Caller:
    """One client in one dialect; those of 0.3 are taken when a card lists nothing newer."""

    def __init__(self, card, binding, version):
        self.card, self.binding, self.http = copy.deepcopy(card), binding, connection(KEY)
        kept = [one for one in card.supported_interfaces if one.protocol_version == version]
        del self.card.supported_interfaces[:]
        self.card.supported_interfaces.extend(kept)

    def client(self, *, streaming=False):
        config = ClientConfig(streaming=streaming, httpx_client=self.http, supported_protocol_bindings=[self.binding])
        return ClientFactory(config).create(self.card)

    async def tell(self, said, *, wait=True):
        configuration = SendMessageConfiguration(return_immediately=not wait)
        request = SendMessageRequest(message=said, configuration=configuration)
        [event] = await collect(self.client().send_message(request))
        return event.task

    def stream(self, said):
        return self.client(streaming=True).send_message(SendMessageRequest(message=said))

    def get(self, task):
        return self.client().get_task(GetTaskRequest(id=task))

    def cancel(self, task):
        return self.client().cancel_task(CancelTaskRequest(id=task))

    def subscribe(self, task):
        return self.client(streaming=True).subscribe(SubscribeToTaskRequest(id=task))


async def starts():
    process = await asyncio.create_subprocess_exec(sys.executable, str(HERE / "agent.py"), str(PORT))
    async with connection() as http:
        while True:
            try:
                (await http.get(f"http://127.0.0.1:{PORT}/.well-known/agent-card.json")).raise_for_status()
                return process
            except httpx.HTTPError:
                true(process.returncode is None, f"the agent ended with {process.returncode}")
                await asyncio.sleep(0.05)


async def imports():
    admin = {"CHANCERY_ADMIN_URL": os.environ["ADMIN_URL"], "CHANCERY_ADMIN_TOKEN": os.environ["ADMIN_TOKEN"]}
    arguments = ["card", "import", f"http://127.0.0.1:{PORT}", "--name", NAME, "--tenant", TENANT]
    process = await asyncio.create_subprocess_exec(
        os.environ["CHANCERY"], *arguments, env={**os.environ, **admin},
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    output = (await process.communicate())[0].decode()
    equal(process.returncode, 0, f"exit code, {output}")
    true("v03_http_json" in output, f"not found to speak it: {output}")
    true("encodes files twice" in output, f"its habit with files is not seen: {output}")


async def served():
    async with connection() as http:
        while True:
            try:
                return await A2ACardResolver(http, f"{GATEWAY}/a2a/{TENANT}/{NAME}").get_agent_card()
            except Exception:  # noqa: BLE001: until the public listener knows the card; the check's deadline ends it
                await asyncio.sleep(0.05)


# Calls.


async def keeps_parts(me):
    data = ParseDict({"n": 7, "deep": {"list": [1, "two", None, True]}}, Value())
    file = Part(raw=b"\x00\x01bin\xff", filename="some.bin", media_type="application/octet-stream")
    task = await me.tell(message("Grüße, Welt 🌍", [Part(data=data), file]))
    equal(state(task), "TASK_STATE_COMPLETED", "state")
    text, same_data, same_file = task.artifacts[0].parts
    equal((task.artifacts[0].name, text.text), ("echo", "Grüße, Welt 🌍"), "text")
    equal(same_data.data, data, "data")
    equal((same_file.raw, same_file.filename), (file.raw, file.filename), "file")
    equal(same_file.media_type, file.media_type, "media type")
    got = await me.get(task.id)
    equal((got.id, state(got), len(got.artifacts)), (task.id, "TASK_STATE_COMPLETED", 1), "task")
    error = await raises(TaskNotCancelableError, me.cancel(task.id))
    true(str(error), "the error has a text")


async def streams(me):
    events = await collect(me.stream(message("in a stream")))
    kinds = [event.WhichOneof("payload") for event in events]
    equal((kinds[0], kinds[-1]), ("task", "status_update"), f"ends of {kinds}")
    equal(state(events[-1].status_update), "TASK_STATE_COMPLETED", "last state")
    told = [event.artifact_update.artifact for event in events if event.HasField("artifact_update")]
    equal([artifact.parts[0].text for artifact in told], ["in a stream"], "text")


async def cancels_while_listening(me):
    task = await me.tell(message("slow, please"), wait=False)
    true(state(task) in ("TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"), f"state {state(task)}")
    events = me.subscribe(task.id)
    equal((await anext(events)).task.id, task.id, "first event")
    equal(state(await me.cancel(task.id)), "TASK_STATE_CANCELED", "answer")
    seen = await collect(events)
    equal(state(seen[-1].status_update), "TASK_STATE_CANCELED", "last event")
    equal(state(await me.get(task.id)), "TASK_STATE_CANCELED", "state afterwards")


async def misses_unknown_tasks(me):
    unknown = str(uuid.uuid4())
    for call in (me.get(unknown), me.cancel(unknown), collect(me.subscribe(unknown))):
        true(str(await raises(TaskNotFoundError, call)), "the error has a text")


async def can_not_list(me):
    await raises(UnsupportedOperationError, me.client().list_tasks(ListTasksRequest()))


async def main():
    logging.disable(logging.CRITICAL)
    checks = Checks()
    process = await checks.run("the agent starts", starts)
    if process is None:
        return checks.close()
    try:
        await checks.run("import finds HTTP+JSON of 0.3 and the habit with files", imports)
        card = await checks.run("the gateway serves its card", served)
        for version in ("1.0", "0.3") if card else ():
            for binding in ("JSONRPC", "HTTP+JSON"):
                me = Caller(card, binding, version)
                run = lambda name, check, me=me, how=f"{binding} {version}": checks.run(f"{how}: {name}", check, me)  # noqa: E731
                await run("text, data and file survive; get; a second end is refused", keeps_parts)
                await run("stream: task first, terminal status last", streams)
                await run("subscribe ends CANCELED when the task is cancelled", cancels_while_listening)
                await run("unknown tasks are not found, typed", misses_unknown_tasks)
                if version == "1.0":
                    await run("list is not supported, typed", can_not_list)
                await me.http.aclose()
    finally:
        process.terminate()
        await process.wait()
    return checks.close()


sys.exit(asyncio.run(main()))
