"""The Python a2a-sdk 1.3.0 drives every sample agent over JSON-RPC, HTTP+JSON and gRPC.

Takes AGENTS_URL from the environment; gives one line per check.
"""

import asyncio
import os
import pathlib
import sys
import uuid

import grpc
import httpx
from a2a.client import A2ACardResolver, ClientConfig
from a2a.client.auth import AuthInterceptor, CredentialService
from a2a.client.client_factory import ClientFactory
from a2a.helpers import get_artifact_text
from a2a.types.a2a_pb2 import (
    AuthenticationInfo,
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    Message,
    Part,
    Role,
    SendMessageConfiguration,
    SendMessageRequest,
    SubscribeToTaskRequest,
    TaskPushNotificationConfig,
    TaskState,
)
from a2a.utils.errors import InvalidParamsError, TaskNotCancelableError, TaskNotFoundError
from google.protobuf.json_format import MessageToDict

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[4] / "gateway/tests/conformance"))
from checks import Checks, collect, equal, raises, true  # noqa: E402

AGENTS = os.environ["AGENTS_URL"]
NAMES = {
    "echo": "Echo Agent",
    "weather": "Weather Agent",
    "travel-planner": "Travel Planner Agent",
    "approval": "Approval Agent",
    "flaky": "Flaky Agent",
    "secure": "Secure Agent",
    "reject": "Reject Agent",
}
# What each agent says to a text, and how its task ends then.
ENDS = [
    ("echo", "hello agent", "TASK_STATE_COMPLETED"),
    ("weather", "What is the weather in Paris?", "TASK_STATE_COMPLETED"),
    ("travel-planner", "Weekend to Kyoto", "TASK_STATE_COMPLETED"),
    ("approval", "Approve my 120 dollar taxi expense", "TASK_STATE_INPUT_REQUIRED"),
    ("flaky", "do something", "TASK_STATE_FAILED"),
    ("flaky", "please succeed", "TASK_STATE_COMPLETED"),
    ("secure", "who am I?", "TASK_STATE_AUTH_REQUIRED"),
    ("reject", "book a flight", "TASK_STATE_REJECTED"),
]


def connection(token=None):
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return httpx.AsyncClient(headers=headers, timeout=20, trust_env=False)


def channel(url):
    return grpc.aio.insecure_channel(url, options=[("grpc.enable_http_proxy", 0)])


async def card_of(name):
    async with connection() as http:
        return await A2ACardResolver(http, f"{AGENTS}/a2a/{name}").get_agent_card()


async def token():
    async with connection() as http:
        form = {"grant_type": "client_credentials"}
        answer = await http.post(f"{AGENTS}/oauth/token", data=form, auth=("rustybin", "secret"))
        return answer.raise_for_status().json()["access_token"]


class OneCredential(CredentialService):
    """The token, for whichever bearer scheme the card names."""

    def __init__(self, given):
        self.given = given

    async def get_credentials(self, security_scheme_name, context):
        return self.given


class Caller:
    """One agent on one binding."""

    def __init__(self, card, binding, token=None):
        self.card, self.binding, self.http = card, binding, connection(token)
        # Over gRPC the token is metadata, which the SDK's own interceptor sets.
        self.interceptors = [AuthInterceptor(OneCredential(token))] if token and binding == "GRPC" else []

    def client(self, *, streaming=False):
        config = ClientConfig(
            streaming=streaming,
            httpx_client=self.http,
            supported_protocol_bindings=[self.binding],
            grpc_channel_factory=channel,
        )
        return ClientFactory(config).create(self.card, self.interceptors)

    async def tell(self, text, *, task=None, wait=True, pace=0, push=None):
        configuration = SendMessageConfiguration(return_immediately=not wait)
        if push:
            configuration.task_push_notification_config.CopyFrom(push)
        request = SendMessageRequest(message=said(text, task, pace), configuration=configuration)
        [event] = await collect(self.client().send_message(request))
        return event.task if event.HasField("task") else event.message

    def stream(self, text, *, pace=0):
        return self.client(streaming=True).send_message(SendMessageRequest(message=said(text, None, pace)))


def said(text, task=None, pace=0):
    message = Message(message_id=str(uuid.uuid4()), role=Role.ROLE_USER, parts=[Part(text=text)])
    message.metadata.update({"stepDelayMs": pace})
    if task is not None:
        message.task_id, message.context_id = task.id, task.context_id
    return message


def state(task):
    return TaskState.Name(task.status.state)


async def resolves(name):
    card = await card_of(name)
    equal(card.name, NAMES[name], "name")
    listed = [(one.protocol_binding, one.protocol_version) for one in card.supported_interfaces]
    for binding in ("JSONRPC", "HTTP+JSON", "GRPC"):
        true((binding, "1.0") in listed, f"interfaces {listed}")
    urls = {(one.url, one.tenant) for one in card.supported_interfaces}
    equal(urls, {(f"{AGENTS}/a2a/{name}", ""), (AGENTS.removeprefix("http://"), name)}, "URLs and tenants")
    true(card.capabilities.streaming and card.capabilities.push_notifications, "capabilities")
    return card


async def ends(caller, text, wanted):
    task = await caller.tell(text)
    equal(state(task), wanted, "state")
    got = await caller.client().get_task(GetTaskRequest(id=task.id))
    equal(state(got), wanted, "state when it is fetched")
    listed = await caller.client().list_tasks(ListTasksRequest(context_id=task.context_id))
    equal([one.id for one in listed.tasks], [task.id], "listed")


async def streams(caller, text, wanted):
    events = await collect(caller.stream(text))
    kinds = [event.WhichOneof("payload") for event in events]
    equal((kinds[0], kinds[-1]), ("task", "status_update"), f"kinds {kinds}")
    equal(state(events[-1].status_update), wanted, "last state")


async def answers_directly(caller):
    answer = await caller.tell("msg: no task please")
    true(isinstance(answer, Message) and answer.role == Role.ROLE_AGENT, f"{answer}")


async def forecasts(caller):
    task = await caller.tell("What is the weather in Paris?")
    forecast = MessageToDict(task.artifacts[0].parts[0])
    equal((forecast["data"]["city"], forecast["mediaType"]), ("Paris", "application/json"), "forecast")


async def plans(caller):
    events = await collect(caller.stream("Plan a 3 day trip to Lisbon"))
    updates = [event.artifact_update for event in events if event.HasField("artifact_update")]
    itinerary = [update for update in updates if update.artifact.name == "itinerary"]
    equal([update.append for update in itinerary], [False, True, True, True], "append")
    equal([update.last_chunk for update in itinerary], [False, False, False, True], "last_chunk")
    true("Lisbon" in "".join(get_artifact_text(update.artifact) for update in itinerary), "itinerary")
    kinds = {part.WhichOneof("content") for update in updates for part in update.artifact.parts}
    equal(kinds, {"text", "data", "url", "raw"}, "kinds of parts")


async def cancels(caller):
    task = await caller.tell("trip", wait=False, pace=5000)
    events = caller.client(streaming=True).subscribe(SubscribeToTaskRequest(id=task.id))
    equal((await anext(events)).task.id, task.id, "first event")
    canceled = await caller.client().cancel_task(CancelTaskRequest(id=task.id))
    equal(state(canceled), "TASK_STATE_CANCELED", "answer")
    seen = [event async for event in events]
    equal(state(seen[-1].status_update), "TASK_STATE_CANCELED", "last state of the stream")
    await raises(TaskNotCancelableError, caller.client().cancel_task(CancelTaskRequest(id=task.id)))
    await raises(TaskNotFoundError, caller.client().get_task(GetTaskRequest(id="no-such-task")))


async def approves(caller):
    for answer, approved in (("approve", True), ("deny", False)):
        asked = await caller.tell("Approve my 120 dollar taxi expense")
        done = await caller.tell(answer, task=asked)
        equal((state(done), done.id), ("TASK_STATE_COMPLETED", asked.id), "task")
        equal(MessageToDict(done.artifacts[0].parts[0])["data"]["approved"], approved, "decision")


async def authenticates(card, binding):
    asked = await Caller(card, binding).tell("who am I?")
    equal(state(asked), "TASK_STATE_AUTH_REQUIRED", "state")
    known = Caller(card, binding, await token())
    done = await known.tell("who am I?", task=asked)
    equal((state(done), done.id), ("TASK_STATE_COMPLETED", asked.id), "task")
    extended = await known.client().get_extended_agent_card(GetExtendedAgentCardRequest())
    true("audit" in [skill.id for skill in extended.skills], "the extended card's skill")
    true("audit" not in [skill.id for skill in card.skills], "the public card's skills")


async def notifies(caller):
    sink = str(uuid.uuid4())
    push = TaskPushNotificationConfig(url=f"{AGENTS}/a2a/webhook-sink/{sink}", token="t-1")
    push.authentication.CopyFrom(AuthenticationInfo(scheme="Bearer", credentials="s3cret"))
    task = await caller.tell("trip", push=push)
    async with connection() as http:
        for _ in range(200):
            told = (await http.get(push.url)).json()["notifications"]
            states = [one["body"].get("statusUpdate", {}).get("status", {}).get("state") for one in told]
            if "TASK_STATE_COMPLETED" in states:
                break
            await asyncio.sleep(0.05)
    true("TASK_STATE_COMPLETED" in states, f"states {states}")
    equal(told[0]["headers"]["x-a2a-notification-token"], "t-1", "token")
    equal(told[0]["headers"]["authorization"], "Bearer s3cret", "credentials")
    client = caller.client()
    made = await client.create_task_push_notification_config(
        TaskPushNotificationConfig(task_id=task.id, id="mine", url=push.url)
    )
    equal((made.id, made.url), ("mine", push.url), "made")
    got = await client.get_task_push_notification_config(
        GetTaskPushNotificationConfigRequest(task_id=task.id, id="mine")
    )
    equal(got.url, push.url, "got")
    listed = await client.list_task_push_notification_configs(ListTaskPushNotificationConfigsRequest(task_id=task.id))
    equal(len(listed.configs), 2, "listed")
    true(all(not config.authentication.credentials for config in listed.configs), "credentials come back")
    await client.delete_task_push_notification_config(
        DeleteTaskPushNotificationConfigRequest(task_id=task.id, id="mine")
    )
    left = await client.list_task_push_notification_configs(ListTaskPushNotificationConfigsRequest(task_id=task.id))
    equal(len(left.configs), 1, "left")
    inside = TaskPushNotificationConfig(url="http://169.254.169.254/latest/meta-data")
    await raises(InvalidParamsError, caller.tell("trip", push=inside))


async def main():
    checks = Checks()
    cards = {name: await checks.run(f"the resolver reads the card of {name}", resolves, name) for name in NAMES}
    for binding in ("JSONRPC", "HTTP+JSON", "GRPC"):
        callers = {name: Caller(card, binding) for name, card in cards.items()}
        for name, text, wanted in ENDS:
            await checks.run(f"{binding} {name}: {text}", ends, callers[name], text, wanted)
            await checks.run(f"{binding} {name}, streamed: {text}", streams, callers[name], text, wanted)
        await checks.run(f"{binding} echo answers directly", answers_directly, callers["echo"])
        await checks.run(f"{binding} weather is structured", forecasts, callers["weather"])
        await checks.run(f"{binding} travel-planner makes artifacts in pieces", plans, callers["travel-planner"])
        await checks.run(f"{binding} travel-planner is followed and cancelled", cancels, callers["travel-planner"])
        await checks.run(f"{binding} approval takes several turns", approves, callers["approval"])
        await checks.run(f"{binding} secure wants a token", authenticates, cards["secure"], binding)
        await checks.run(f"{binding} travel-planner notifies", notifies, callers["travel-planner"])
    return checks.close()


sys.exit(asyncio.run(main()))
