"""An agent of the Python a2a-sdk 1.3.0 that speaks gRPC alone, behind a running gateway.

Takes GATEWAY_URL, ADMIN_URL, ADMIN_TOKEN, TENANT, API_KEY of `demo.env`, CHANCERY (the binary), and CARD_PORT and
GRPC_PORT, where the gateway may connect: the agent's card is served at the first over HTTP and names the second.
Imports it by its card with the command line, then calls it with the SDK's client over JSON-RPC, HTTP+JSON and gRPC.
"""

import asyncio
import http.server
import json
import logging
import os
import pathlib
import sys
import threading
import uuid

import grpc
import httpx
from a2a.client import A2ACardResolver, ClientConfig
from a2a.client.auth import AuthInterceptor, CredentialService
from a2a.client.client_factory import ClientFactory
from a2a.helpers import get_artifact_text
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.request_handlers.grpc_handler import GrpcHandler
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import a2a_pb2_grpc
from a2a.types.a2a_pb2 import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    AgentSkill,
    CancelTaskRequest,
    GetTaskRequest,
    ListTasksRequest,
    Message,
    Part,
    Role,
    SendMessageConfiguration,
    SendMessageRequest,
    SubscribeToTaskRequest,
    Task,
    TaskState,
    TaskStatus,
)
from a2a.utils.errors import TaskNotCancelableError, TaskNotFoundError
from google.protobuf.json_format import MessageToDict
from google.protobuf.struct_pb2 import Value

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from checks import Checks, collect, equal, raises, true  # noqa: E402

GATEWAY, TENANT, KEY = (os.environ[name] for name in ("GATEWAY_URL", "TENANT", "API_KEY"))
CHANCERY = os.environ["CHANCERY"]
CARD_PORT, GRPC_PORT = int(os.environ["CARD_PORT"]), int(os.environ["GRPC_PORT"])
NAME = "grpc-agent"


class Echo(AgentExecutor):
    """Gives every part back; with a text that begins with `slow`, only when it is cancelled."""

    async def execute(self, context, event_queue):
        task = Task(
            id=context.task_id,
            context_id=context.context_id,
            status=TaskStatus(state=TaskState.TASK_STATE_SUBMITTED),
            history=[context.message],
        )
        await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        await updater.start_work()
        if context.get_user_input().startswith("slow"):
            await asyncio.sleep(600)
        for at, part in enumerate(context.message.parts):
            last = at + 1 == len(context.message.parts)
            await updater.add_artifact([part], artifact_id="echo", name="echo", append=at > 0, last_chunk=last)
        await updater.complete()

    async def cancel(self, context, event_queue):
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


def agent_card():
    return AgentCard(
        name=NAME,
        description="Echoes, over gRPC alone.",
        version="1",
        supported_interfaces=[
            AgentInterface(url=f"127.0.0.1:{GRPC_PORT}", protocol_binding="GRPC", protocol_version="1.0")
        ],
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id="echo", name="Echo", description="Echoes.", tags=["echo"])],
    )


async def starts():
    server = grpc.aio.server()
    handler = DefaultRequestHandler(Echo(), InMemoryTaskStore(), agent_card())
    a2a_pb2_grpc.add_A2AServiceServicer_to_server(GrpcHandler(handler), server)
    equal(server.add_insecure_port(f"127.0.0.1:{GRPC_PORT}"), GRPC_PORT, "port")
    await server.start()
    return server


class CardServer(http.server.BaseHTTPRequestHandler):
    """The card at its well-known address, nothing else."""

    def do_GET(self):
        found = self.path == "/.well-known/agent-card.json"
        body = json.dumps(MessageToDict(agent_card())).encode() if found else b""
        self.send_response(200 if found else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


async def imports():
    arguments = ["card", "import", f"http://127.0.0.1:{CARD_PORT}", "--name", NAME, "--tenant", TENANT]
    admin = {"CHANCERY_ADMIN_URL": os.environ["ADMIN_URL"], "CHANCERY_ADMIN_TOKEN": os.environ["ADMIN_TOKEN"]}
    process = await asyncio.create_subprocess_exec(
        CHANCERY, *arguments, env={**os.environ, **admin},
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    output = (await process.communicate())[0].decode()
    equal(process.returncode, 0, output)
    true("v10_grpc" in output, f"not found to speak gRPC: {output}")
    async with httpx.AsyncClient(trust_env=False) as http_client:
        while True:
            answer = await http_client.get(f"{GATEWAY}/.well-known/agent-card/{TENANT}/{NAME}")
            if answer.status_code == 200:
                return
            await asyncio.sleep(0.05)


class OneCredential(CredentialService):
    async def get_credentials(self, security_scheme_name, context):
        return KEY


def channel(url):
    return grpc.aio.insecure_channel(url, options=[("grpc.enable_http_proxy", 0)])


async def client(binding, http_client, *, streaming=False):
    card = await A2ACardResolver(http_client, f"{GATEWAY}/a2a/{TENANT}/{NAME}").get_agent_card()
    config = ClientConfig(
        streaming=streaming,
        httpx_client=http_client,
        grpc_channel_factory=channel,
        supported_protocol_bindings=[binding],
    )
    return ClientFactory(config).create(card, [AuthInterceptor(OneCredential())])


def request(parts, *, wait=True):
    said = Message(message_id=str(uuid.uuid4()), role=Role.ROLE_USER, parts=parts)
    return SendMessageRequest(
        message=said, configuration=SendMessageConfiguration(return_immediately=not wait)
    )


async def sends(caller):
    value = Value()
    value.struct_value.update({"n": 7, "deep": {"list": [1, "two", None, True, -0.5]}})
    parts = [Part(text="Grüße 🌍"), Part(data=value), Part(raw=b"\x00\xff", filename="a.bin", media_type="x/y")]
    [event] = await collect(caller.send_message(request(parts)))
    equal(TaskState.Name(event.task.status.state), "TASK_STATE_COMPLETED", "state")
    equal(list(event.task.artifacts[0].parts), parts, "parts")


async def streams(caller):
    parts = [Part(text=text) for text in ("one ", "two ", "three")]
    events = await collect(caller.send_message(request(parts)))
    kinds = [event.WhichOneof("payload") for event in events]
    equal((kinds[0], kinds[-1]), ("task", "status_update"), f"first and last of {kinds}")
    text = "".join(get_artifact_text(event.artifact_update.artifact) for event in events if event.HasField("artifact_update"))
    equal(text, "one two three", "text")


async def cancels(caller, listener):
    [event] = await collect(caller.send_message(request([Part(text="slow")], wait=False)))
    task = event.task.id
    events = listener.subscribe(SubscribeToTaskRequest(id=task))
    first = await anext(events)
    equal((first.WhichOneof("payload"), first.task.id), ("task", task), "first event")
    canceled = await caller.cancel_task(CancelTaskRequest(id=task))
    equal(TaskState.Name(canceled.status.state), "TASK_STATE_CANCELED", "state")
    rest = [event async for event in events]
    equal(TaskState.Name(rest[-1].status_update.status.state), "TASK_STATE_CANCELED", "last state told")
    await raises(TaskNotCancelableError, caller.cancel_task(CancelTaskRequest(id=task)))


async def reads(caller):
    [event] = await collect(caller.send_message(request([Part(text="keep")])))
    got = await caller.get_task(GetTaskRequest(id=event.task.id, history_length=1))
    equal((got.id, len(got.history)), (event.task.id, 1), "task and history")
    listed = await caller.list_tasks(ListTasksRequest(context_id=event.task.context_id))
    equal([task.id for task in listed.tasks], [event.task.id], "list")
    await raises(TaskNotFoundError, caller.get_task(GetTaskRequest(id=str(uuid.uuid4()))))


async def main():
    logging.disable(logging.CRITICAL)
    checks = Checks()
    cards = http.server.ThreadingHTTPServer(("127.0.0.1", CARD_PORT), CardServer)
    threading.Thread(target=cards.serve_forever, daemon=True).start()
    server = await checks.run("the agent starts", starts)
    await checks.run("import by its card finds gRPC", imports)
    for binding in ("JSONRPC", "HTTP+JSON", "GRPC"):
        async with httpx.AsyncClient(timeout=20, trust_env=False) as http_client:
            caller = await client(binding, http_client)
            listener = await client(binding, http_client, streaming=True)
            await checks.run(f"{binding}: send, with text, data and a file", sends, caller)
            await checks.run(f"{binding}: stream, one event for each of the agent's", streams, listener)
            await checks.run(f"{binding}: get, list, an unknown task", reads, caller)
            await checks.run(f"{binding}: subscribe until another one cancels", cancels, caller, listener)
    if server is not None:
        await server.stop(0)
    cards.shutdown()
    return checks.close()


sys.exit(asyncio.run(main()))
