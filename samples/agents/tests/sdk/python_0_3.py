"""The Python a2a-sdk 0.3.26 drives every sample agent over JSON-RPC and HTTP+JSON of A2A 0.3.

Takes AGENTS_URL from the environment; gives one line per check.
"""

import asyncio
import os
import pathlib
import sys
import uuid

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.client.errors import A2AClientHTTPError, A2AClientJSONRPCError
from a2a.types import (
    DataPart,
    FilePart,
    GetTaskPushNotificationConfigParams,
    Message,
    Part,
    PushNotificationAuthenticationInfo,
    PushNotificationConfig,
    Role,
    TaskArtifactUpdateEvent,
    TaskIdParams,
    TaskPushNotificationConfig,
    TaskQueryParams,
    TaskStatusUpdateEvent,
    TextPart,
    TransportProtocol,
)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[4] / "gateway/tests/conformance"))
from checks import Checks, collect, equal, true  # noqa: E402

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
ENDS = [
    ("echo", "hello agent", "completed"),
    ("weather", "What is the weather in Paris?", "completed"),
    ("travel-planner", "Weekend to Kyoto", "completed"),
    ("approval", "Approve my 120 dollar taxi expense", "input-required"),
    ("flaky", "do something", "failed"),
    ("flaky", "please succeed", "completed"),
    ("secure", "who am I?", "auth-required"),
    ("reject", "book a flight", "rejected"),
]


def connection(token=None):
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return httpx.AsyncClient(headers=headers, timeout=20, trust_env=False)


async def token():
    async with connection() as http:
        form = {"grant_type": "client_credentials"}
        answer = await http.post(f"{AGENTS}/oauth/token", data=form, auth=("rustybin", "secret"))
        return answer.raise_for_status().json()["access_token"]


class Caller:
    """One agent on one binding."""

    def __init__(self, card, binding, token=None):
        self.card, self.binding, self.http = card, binding, connection(token)

    def client(self, *, streaming=False, polling=False, push=()):
        config = ClientConfig(
            streaming=streaming,
            polling=polling,
            httpx_client=self.http,
            supported_transports=[self.binding],
            push_notification_configs=list(push),
        )
        return ClientFactory(config).create(self.card)

    async def tell(self, text, *, task=None, wait=True, pace=0, push=()):
        [answer] = await collect(self.client(polling=not wait, push=push).send_message(said(text, task, pace)))
        return answer[0] if isinstance(answer, tuple) else answer

    def stream(self, text, *, pace=0):
        return self.client(streaming=True).send_message(said(text, None, pace))


def said(text, task=None, pace=0):
    message = Message(
        message_id=str(uuid.uuid4()),
        role=Role.user,
        parts=[Part(root=TextPart(text=text))],
        metadata={"stepDelayMs": pace},
    )
    if task is not None:
        message.task_id, message.context_id = task.id, task.context_id
    return message


def state(task):
    return task.status.state.value


async def resolves(name, path):
    async with connection() as http:
        card = await A2ACardResolver(http, f"{AGENTS}/a2a/{name}", agent_card_path=path).get_agent_card()
    equal((card.name, card.url), (NAMES[name], f"{AGENTS}/a2a/{name}"), "card")
    equal((card.preferred_transport, card.protocol_version), ("JSONRPC", "0.3.0"), "transport and version")
    return card


async def ends(caller, text, wanted):
    task = await caller.tell(text)
    equal(state(task), wanted, "state")
    got = await caller.client().get_task(TaskQueryParams(id=task.id))
    equal((state(got), got.id), (wanted, task.id), "task when it is fetched")


async def streams(caller, text, wanted):
    events = await collect(caller.stream(text))
    updates = [event[1] for event in events if isinstance(event, tuple)]
    states = [update.status.state.value for update in updates if isinstance(update, TaskStatusUpdateEvent)]
    equal(states[-1], wanted, f"states {states}")


async def answers_directly(caller):
    answer = await caller.tell("msg: no task please")
    true(isinstance(answer, Message) and answer.role == Role.agent, f"{answer}")


async def forecasts(caller):
    task = await caller.tell("What is the weather in Paris?")
    part = task.artifacts[0].parts[0].root
    true(isinstance(part, DataPart) and part.data["city"] == "Paris", f"{part}")


async def plans(caller):
    events = await collect(caller.stream("Plan a 3 day trip to Lisbon"))
    updates = [event[1] for event in events if isinstance(event, tuple)]
    updates = [update for update in updates if isinstance(update, TaskArtifactUpdateEvent)]
    itinerary = [update for update in updates if update.artifact.name == "itinerary"]
    equal([bool(update.append) for update in itinerary], [False, True, True, True], "append")
    equal([bool(update.last_chunk) for update in itinerary], [False, False, False, True], "last_chunk")
    kinds = {type(part.root) for update in updates for part in update.artifact.parts}
    equal(kinds, {TextPart, DataPart, FilePart}, "kinds of parts")


async def cancels(caller):
    task = await caller.tell("trip", wait=False, pace=5000)
    events = caller.client(streaming=True).resubscribe(TaskIdParams(id=task.id))
    equal((await anext(events))[0].id, task.id, "first event")
    canceled = await caller.client().cancel_task(TaskIdParams(id=task.id))
    equal(state(canceled), "canceled", "answer")
    followed = [event async for event in events]
    equal(state(followed[-1][0]), "canceled", "last state of the stream")
    try:
        await caller.client().cancel_task(TaskIdParams(id=task.id))
    except A2AClientJSONRPCError as refused:
        equal(refused.error.code, -32002, "code")
    except A2AClientHTTPError as refused:
        equal(refused.status_code, 400, "status")
    else:
        raise AssertionError("a second cancel works")


async def approves(caller):
    for answer, approved in (("approve", True), ("deny", False)):
        asked = await caller.tell("Approve my 120 dollar taxi expense")
        done = await caller.tell(answer, task=asked)
        equal((state(done), done.id), ("completed", asked.id), "task")
        equal(done.artifacts[0].parts[0].root.data["approved"], approved, "decision")


async def authenticates(card, binding):
    asked = await Caller(card, binding).tell("who am I?")
    equal(state(asked), "auth-required", "state")
    known = Caller(card, binding, await token())
    done = await known.tell("who am I?", task=asked)
    equal((state(done), done.id), ("completed", asked.id), "task")
    extended = await known.client().get_card()
    true("audit" in [skill.id for skill in extended.skills], "the extended card's skill")


async def notifies(caller):
    url = f"{AGENTS}/a2a/webhook-sink/{uuid.uuid4()}"
    authentication = PushNotificationAuthenticationInfo(schemes=["Bearer"], credentials="s3cret")
    push = PushNotificationConfig(id="first", url=url, token="t-1", authentication=authentication)
    task = await caller.tell("trip", push=[push])
    async with connection() as http:
        for _ in range(200):
            told = (await http.get(url)).json()["notifications"]
            if any(one["body"]["status"]["state"] == "completed" for one in told):
                break
            await asyncio.sleep(0.05)
    equal((told[-1]["body"]["kind"], told[-1]["body"]["id"]), ("task", task.id), "what was told")
    equal(told[0]["headers"]["x-a2a-notification-token"], "t-1", "token")
    equal(told[0]["headers"]["authorization"], "Bearer s3cret", "credentials")
    client = caller.client()
    config = PushNotificationConfig(id="mine", url=url)
    made = await client.set_task_callback(TaskPushNotificationConfig(task_id=task.id, push_notification_config=config))
    equal(made.push_notification_config.url, url, "made")
    params = GetTaskPushNotificationConfigParams(id=task.id, push_notification_config_id="mine")
    equal((await client.get_task_callback(params)).push_notification_config.url, url, "got")
    # This SDK's client neither lists nor deletes: the calls are written by hand.
    rest = caller.binding == TransportProtocol.http_json
    configs = f"{caller.card.url}/v1/tasks/{task.id}/pushNotificationConfigs"
    equal(await configs_of(caller, task.id, configs if rest else None), ["first", "mine"], "listed")
    if rest:
        (await caller.http.delete(f"{configs}/mine")).raise_for_status()
    else:
        await rpc(caller, "delete", {"id": task.id, "pushNotificationConfigId": "mine"})
    equal(await configs_of(caller, task.id, configs if rest else None), ["first"], "left")


async def rpc(caller, method, params):
    call = {"jsonrpc": "2.0", "id": 1, "method": f"tasks/pushNotificationConfig/{method}", "params": params}
    return (await caller.http.post(caller.card.url, json=call)).json()["result"]


async def configs_of(caller, task, rest):
    if rest:
        answer = (await caller.http.get(rest)).raise_for_status().json()
        true("s3cret" not in str(answer), "credentials come back")
        return sorted(one["pushNotificationConfig"]["id"] for one in answer["configs"])
    answer = await rpc(caller, "list", {"id": task})
    true("s3cret" not in str(answer), "credentials come back")
    return sorted(one["pushNotificationConfig"]["id"] for one in answer)


async def main():
    checks = Checks()
    cards = {}
    for name in NAMES:
        await checks.run(f"the resolver reads the old card of {name}", resolves, name, "/.well-known/agent.json")
        path = "/.well-known/agent-card.json"
        cards[name] = await checks.run(f"the resolver reads the card of {name}", resolves, name, path)
    for binding in (TransportProtocol.jsonrpc, TransportProtocol.http_json):
        callers = {name: Caller(card, binding) for name, card in cards.items()}
        tag = binding.value
        for name, text, wanted in ENDS:
            await checks.run(f"{tag} {name}: {text}", ends, callers[name], text, wanted)
            await checks.run(f"{tag} {name}, streamed: {text}", streams, callers[name], text, wanted)
        await checks.run(f"{tag} echo answers directly", answers_directly, callers["echo"])
        await checks.run(f"{tag} weather is structured", forecasts, callers["weather"])
        await checks.run(f"{tag} travel-planner makes artifacts in pieces", plans, callers["travel-planner"])
        await checks.run(f"{tag} travel-planner is followed and cancelled", cancels, callers["travel-planner"])
        await checks.run(f"{tag} approval takes several turns", approves, callers["approval"])
        await checks.run(f"{tag} secure wants a token", authenticates, cards["secure"], binding)
        await checks.run(f"{tag} travel-planner notifies", notifies, callers["travel-planner"])
    return checks.close()


sys.exit(asyncio.run(main()))
