"""The Python a2a-sdk 0.3.26 as an outside client of a running gateway.

Takes GATEWAY_URL, TENANT and the keys of `demo.env` from the environment; gives one line per check. The agent behind
the gateway is the sample `echo`, or the one of 0.3 (`old_agent`) whose card AGENT names. This SDK knows A2A 0.3 only and
is called over both of its HTTP bindings.
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
from a2a.client.errors import A2AClientHTTPError, A2AClientJSONRPCError
from a2a.types import (
    AgentCard,
    DataPart,
    FilePart,
    FileWithBytes,
    GetTaskPushNotificationConfigParams,
    Message,
    MessageSendConfiguration,
    Part,
    PushNotificationConfig,
    Role,
    TaskArtifactUpdateEvent,
    TaskIdParams,
    TaskPushNotificationConfig,
    TaskQueryParams,
    TaskState,
    TaskStatusUpdateEvent,
    TextPart,
    TransportProtocol,
)
from a2a.utils.signing import InvalidSignaturesError, NoSignatureError, create_signature_verifier
from jwt import PyJWK
from jwt.exceptions import PyJWKError
from pydantic import ValidationError

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from checks import Checks, changed, collect, equal, leaves, pointer, put, raises, true  # noqa: E402

GATEWAY, TENANT = os.environ["GATEWAY_URL"], os.environ["TENANT"]
KEY, SECOND_KEY, PARTNER_KEY = (os.environ[name] for name in ("API_KEY", "SECOND_API_KEY", "PARTNER_API_KEY"))
NAME = os.environ.get("AGENT", "echo")
OLD = NAME != "echo"
AGENT = f"{GATEWAY}/a2a/{TENANT}/{NAME}"
NOT_FOUND, NOT_CANCELABLE, NO_PUSH, INVALID_PARAMS = -32001, -32002, -32003, -32602
# What HTTP+JSON says in place of these codes; this SDK reads nothing else of an error there.
STATUS = {NOT_FOUND: 404, NOT_CANCELABLE: 400, NO_PUSH: 400, INVALID_PARAMS: 400}


def connection(key):
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return httpx.AsyncClient(headers=headers, timeout=20, trust_env=False)


async def tenant_keys():
    async with connection(None) as http:
        answer = (await http.get(f"{GATEWAY}/.well-known/a2a-jwks/{TENANT}")).raise_for_status()
    return {jwk["kid"]: jwk for jwk in answer.json()["keys"]}


def verifier(keys):
    def key(kid, _jku):
        if kid not in keys:
            raise PyJWKError(f"the tenant has no key {kid}")
        return PyJWK.from_dict(keys[kid])

    return create_signature_verifier(key, ["EdDSA"])


class Caller:
    """One principal on one binding."""

    def __init__(self, card, key, binding):
        self.card, self.http, self.binding = card, connection(key), binding

    def client(self, *, streaming=False, polling=False):
        config = ClientConfig(
            streaming=streaming, polling=polling, httpx_client=self.http, supported_transports=[self.binding]
        )
        return ClientFactory(config).create(self.card)

    async def tell(self, text=None, *, parts=None, task=None, wait=True, configuration=None):
        """Sends without a stream; gives the task or the direct message."""
        client = self.client(polling=not wait)
        [answer] = await collect(client.send_message(message(text, parts, task), configuration=configuration))
        return answer[0] if isinstance(answer, tuple) else answer

    def stream(self, text, *, task=None):
        return self.client(streaming=True).send_message(message(text, None, task))

    def get(self, task, history=None):
        return self.client().get_task(TaskQueryParams(id=task, history_length=history))

    def cancel(self, task):
        return self.client().cancel_task(TaskIdParams(id=task))

    def resubscribe(self, task):
        return self.client(streaming=True).resubscribe(TaskIdParams(id=task))


    async def refused(self, call, code, *, reads_status=True):
        """Awaits a call that must be refused with this code; gives the error's text."""
        if self.binding == TransportProtocol.jsonrpc:
            error = (await raises(A2AClientJSONRPCError, call)).error
            equal(error.code, code, "code")
            true(error.message, "the error has no text")
            return error.message
        error = await raises(A2AClientHTTPError, call)
        equal(error.status_code, STATUS[code] if reads_status else 400, "status")
        return str(error)


def message(text, parts=None, task=None):
    said = Message(
        message_id=str(uuid.uuid4()), role=Role.user, parts=parts or [Part(root=TextPart(text=text))]
    )
    if task is not None:
        said.task_id, said.context_id = task.id, task.context_id
    return said


def texts(parts):
    return "".join(part.root.text for part in parts if isinstance(part.root, TextPart))


# The card and its signatures.


async def resolver_accepts(verify):
    async with connection(None) as http:
        card = await A2ACardResolver(http, AGENT).get_agent_card(signature_verifier=verify)
    name = "Old Echo" if OLD else "Echo Agent"
    equal((card.name, card.url, card.preferred_transport), (name, AGENT, "JSONRPC"), "card")
    equal(card.protocol_version, "0.3.0", "protocol version")
    return card


async def old_path():
    async with connection(None) as http:
        newer = await A2ACardResolver(http, AGENT).get_agent_card()
        older = await A2ACardResolver(http, AGENT, agent_card_path="/.well-known/agent.json").get_agent_card()
    equal(older, newer, "card at the older path")


def refuses(verify, document):
    try:
        card = AgentCard.model_validate(document)
    except ValidationError:
        return
    try:
        verify(card)
    except (InvalidSignaturesError, NoSignatureError):
        return
    raise AssertionError("the verifier accepts the changed card")


async def signatures(checks, keys):
    verify = verifier(keys)
    card = await checks.run("the resolver accepts the signed card", resolver_accepts, verify)
    await checks.run("the older card path has the same card", old_path)
    if OLD:  # How a card of the gateway is signed does not hang on the agent.
        return card
    if card is None:
        return None
    view = card.model_dump(mode="json", by_alias=True, exclude_none=True)
    signed = view.pop("signatures", [])
    with_signatures = lambda document: {**document, "signatures": signed}  # noqa: E731
    unchanged = AgentCard.model_validate(with_signatures(copy.deepcopy(view)))
    await checks.run("the view verifies unchanged", verify, unchanged)
    for path, leaf in list(leaves(view)):
        tampered = copy.deepcopy(view)
        put(tampered, path, changed(leaf))
        await checks.run(f"the verifier refuses a change of {pointer(path)}", refuses, verify, with_signatures(tampered))
    added = {**copy.deepcopy(view), "documentationUrl": "https://elsewhere.example/"}
    await checks.run("the verifier refuses an added member", refuses, verify, with_signatures(added))
    await checks.run("the verifier refuses a card without signatures", refuses, verify, view)
    await checks.run("the verifier refuses without the tenant's key", refuses, verifier({}), with_signatures(view))
    return card


# Calls.


async def sends(me):
    task = await me.tell("Grüße, Welt 🌍")
    equal((task.kind, task.status.state), ("task", TaskState.completed), "task")
    equal([artifact.name for artifact in task.artifacts], ["echo"], "artifacts")
    equal(texts(task.artifacts[0].parts), "Grüße, Welt 🌍", "text")


async def keeps_parts(me):
    parts = [
        Part(root=TextPart(text="three kinds")),
        Part(root=DataPart(data={"n": 7, "deep": {"list": [1, "two", None, True]}})),
        Part(
            root=FilePart(
                file=FileWithBytes(bytes="AAFiaW5hcnn/", name="some.bin", mime_type="application/octet-stream")
            )
        ),
    ]
    task = await me.tell(parts=parts)
    equal(task.status.state, TaskState.completed, "state")
    equal(task.artifacts[0].parts, parts, "parts")


async def answers_directly(me):
    answer = await me.tell("msg: hello")
    true(isinstance(answer, Message), f"a task came instead of a message: {answer}")
    equal((texts(answer.parts), answer.role), ("msg: hello", Role.agent), "message")


async def ends_as(me, text, wanted):
    equal((await me.tell(text)).status.state, wanted, "state")


async def streams(me):
    said = "Grüße in vier Stücken, bitte"
    updates, read, last_task = [], "", None
    # The SDK lengthens the artifacts of events that it gave away, so each is read at once.
    async for last_task, update in me.stream(f"stream 4 {said}"):
        updates.append(update)
        read += texts(update.artifact.parts) if isinstance(update, TaskArtifactUpdateEvent) else ""
    true(updates[0] is None, f"the first event is no task: {updates[0]}")
    true(isinstance(updates[-1], TaskStatusUpdateEvent), f"the last event is no status: {updates[-1]}")
    equal((updates[-1].status.state, updates[-1].final), (TaskState.completed, True), "last status")
    finals = [update.final for update in updates[:-1] if isinstance(update, TaskStatusUpdateEvent)]
    true(True not in finals, f"final before the end: {finals}")
    equal(read, said, "joined text")
    pieces = [update for update in updates if isinstance(update, TaskArtifactUpdateEvent)]
    equal([bool(piece.append) for piece in pieces], [False, True, True, True], "append")
    equal([bool(piece.last_chunk) for piece in pieces], [False, False, False, True], "lastChunk")
    equal(texts(last_task.artifacts[0].parts), said, "text of the SDK's own aggregate")


async def streams_a_message(me):
    events = await collect(me.stream("msg: hello"))
    equal(len(events), 1, "events")
    true(isinstance(events[0], Message) and texts(events[0].parts) == "msg: hello", f"{events[0]}")


async def gets(me):
    sent = await me.tell("remember me")
    got = await me.get(sent.id)
    equal((got.id, got.context_id, got.status.state), (sent.id, sent.context_id, TaskState.completed), "task")
    equal(texts(got.artifacts[0].parts), "remember me", "text")
    true(got.history, "the task's history holds what was said")
    # The proto behind HTTP+JSON of 0.3 can't tell 0 from "not said".
    # The server of SDK 0.3.26 takes it for "all".
    if me.binding == TransportProtocol.jsonrpc and not OLD:
        equal(len((await me.get(sent.id, 0)).history or []), 0, "history of length 0")
    equal(len((await me.get(sent.id, 1)).history or []), 1, "history of length 1")


async def slow_task(me):
    task = await me.tell("slow, please", wait=False)
    true(task.status.state in (TaskState.submitted, TaskState.working), f"state {task.status.state}")
    return task


async def cancels(me):
    task = await slow_task(me)
    equal((await me.cancel(task.id)).status.state, TaskState.canceled, "answer")
    equal((await me.get(task.id)).status.state, TaskState.canceled, "state afterwards")
    await me.refused(me.cancel(task.id), NOT_CANCELABLE)


async def resubscribes(me, other):
    """One client listens while another one of the same principal cancels."""
    task = await slow_task(me)
    events = me.resubscribe(task.id)
    first, update = await anext(events)
    if OLD:  # An agent of 0.3 begins with whatever comes next.
        true(isinstance(update, TaskStatusUpdateEvent) and update.task_id == task.id, f"the first event is {update}")
    else:
        true(update is None and first.id == task.id, f"the first event is no task: {update}")
    await other.cancel(task.id)
    seen = [update async for _, update in events]
    true(seen, "nothing after the cancel")
    equal((seen[-1].status.state, seen[-1].final), (TaskState.canceled, True), "last status")


async def follows_up(me):
    asked = await me.tell("ask me")
    equal(asked.status.state, TaskState.input_required, "state")
    true(asked.status.message and texts(asked.status.message.parts), "the agent says what it wants")
    done = await me.tell("here you are", task=asked)
    equal((done.id, done.status.state), (asked.id, TaskState.completed), "task")
    equal(texts(done.artifacts[-1].parts), "here you are", "text")


async def refuses_push(me, call):
    task = await me.tell("push")
    config = PushNotificationConfig(id="c1", url="https://hooks.example/x")
    calls = {
        "set": lambda: me.client().set_task_callback(
            TaskPushNotificationConfig(task_id=task.id, push_notification_config=config)
        ),
        "get": lambda: me.client().get_task_callback(
            GetTaskPushNotificationConfigParams(id=task.id, push_notification_config_id="c1")
        ),
        "inline": lambda: me.tell("inline", configuration=MessageSendConfiguration(push_notification_config=config)),
    }
    await me.refused(calls[call](), NO_PUSH)


async def gets_extended_card(me, verify):
    card = await me.client().get_card(signature_verifier=verify)
    true("trace" in [skill.id for skill in card.skills], f"skills {[skill.id for skill in card.skills]}")
    equal(card.url, AGENT, "url")


# Refusals.


async def task_calls(me, task):
    """The error of every call on a task; streams must tell theirs as an event, or this SDK loses it."""
    said = message("follow-up")
    said.task_id = task
    calls = [
        me.get(task),
        me.cancel(task),
        collect(me.client().send_message(said)),
        collect(me.client(streaming=True).send_message(said)),
    ]
    told = [await me.refused(call, NOT_FOUND) for call in calls]
    # On HTTP+JSON the SDK looks for a stream before it looks at the status, and calls what it does not find 400.
    unread = me.binding == TransportProtocol.http_json
    return [*told, await me.refused(collect(me.resubscribe(task)), NOT_FOUND, reads_status=not unread)]


async def misses_unknown_tasks(me):
    await task_calls(me, str(uuid.uuid4()))


async def hides_foreign_tasks(me, second):
    task = await slow_task(me)
    missing = str(uuid.uuid4())
    foreign = [text.replace(task.id, missing) for text in await task_calls(second, task.id)]
    equal(foreign, await task_calls(second, missing), "errors")
    true((await me.get(task.id)).status.state != TaskState.canceled, "a stranger's cancel was heard")
    await me.cancel(task.id)


async def refuses_without_key(stranger):
    error = await raises(A2AClientHTTPError, stranger.tell("hello"))
    equal(error.status_code, 401, "status")
    error = await raises(A2AClientHTTPError, collect(stranger.stream("hello")))
    equal(error.status_code, 401, "status of the stream")


async def hides_cards_from_partners(partner):
    error = await raises(A2AClientHTTPError, partner.tell("hello"))
    equal(error.status_code, 404, "status")
    error = await raises(A2AClientHTTPError, collect(partner.stream("hello")))
    equal(error.status_code, 404, "status of the stream")


async def refuses_empty_messages(me):
    empty = Message(message_id="m1", role=Role.user, parts=[])
    for streaming in (False, True):
        await me.refused(collect(me.client(streaming=streaming).send_message(empty)), INVALID_PARAMS)


async def call_checks(checks, card, verify, binding):
    keys = (KEY, KEY, SECOND_KEY, None, PARTNER_KEY)
    me, again, second, stranger, partner = (Caller(card, key, binding) for key in keys)
    run = lambda name, check, *arguments: checks.run(f"{binding.value}: {name}", check, *arguments)  # noqa: E731
    await run("send gives a task with the text", sends, me)
    await run("text, data and file parts survive", keeps_parts, me)
    await run("send gives a direct message", answers_directly, me)
    await run("a failed task is a task", ends_as, me, "fail now", TaskState.failed)
    await run("a rejected task is a task", ends_as, me, "reject this", TaskState.rejected)
    await run("stream: task first, final status last, text whole", streams, me)
    await run("stream of a direct message", streams_a_message, me)
    await run("get honours historyLength", gets, me)
    await run("cancel ends a slow task", cancels, me)
    await run("resubscribe ends canceled when another client cancels", resubscribes, me, again)
    await run("input-required is followed up", follows_up, me)
    # The SDK can't write an inline configuration as HTTP+JSON: AttributeError in its own translation.
    for call in ("set", "get", "inline") if binding == TransportProtocol.jsonrpc else ("set", "get"):
        await run(f"push {call} is not supported", refuses_push, me, call)
    await run("the extended card has more skills and is signed", gets_extended_card, me, verify)
    await run("unknown tasks are not found, with text, in streams too", misses_unknown_tasks, me)
    await run("another principal's task looks missing", hides_foreign_tasks, me, second)
    await run("without a key: 401", refuses_without_key, stranger)
    await run("with the partner's key: 404", hides_cards_from_partners, partner)
    await run("a message without parts is refused", refuses_empty_messages, me)
    for caller in (me, again, second, stranger, partner):
        await caller.http.aclose()


async def unverified_card():
    async with connection(None) as http:
        return await A2ACardResolver(http, AGENT).get_agent_card()


async def main():
    logging.disable(logging.CRITICAL)
    checks = Checks()
    keys = await checks.run("the tenant publishes its keys", tenant_keys) or {}
    card = await signatures(checks, keys)
    if card is None:
        card = await checks.run("the card can be read at all", unverified_card)
    if card is not None:
        for binding in (TransportProtocol.jsonrpc, TransportProtocol.http_json):
            await call_checks(checks, card, verifier(keys), binding)
    return checks.close()


sys.exit(asyncio.run(main()))
