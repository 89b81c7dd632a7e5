"""The Python a2a-sdk 1.3.0 as an outside client of a running gateway.

Takes GATEWAY_URL, TENANT and the keys of `demo.env` from the environment; gives one line per check. The agent behind
the gateway is the sample `echo`, or the one of 0.3 (`old_agent`) whose card AGENT names. Uses the SDK's public API; plain
HTTP only to fetch the tenant's keys.
"""

import asyncio
import copy
import logging
import os
import pathlib
import sys
import uuid

import grpc
import httpx
from a2a.client import A2ACardResolver, ClientConfig, create_client
from a2a.client.auth import AuthInterceptor, CredentialService
from a2a.client.card_resolver import parse_agent_card
from a2a.client.client import ClientCallContext
from a2a.client.client_factory import ClientFactory
from a2a.client.errors import A2AClientError
from a2a.helpers import get_artifact_text, get_message_text
from a2a.types.a2a_pb2 import (
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
from a2a.utils.errors import (
    InvalidParamsError,
    InvalidRequestError,
    MethodNotFoundError,
    PushNotificationNotSupportedError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnsupportedOperationError,
    VersionNotSupportedError,
)
from a2a.utils.signing import InvalidSignaturesError, NoSignatureError, create_signature_verifier
from google.protobuf.json_format import MessageToDict
from google.protobuf.struct_pb2 import Value
from jwt import PyJWK
from jwt.exceptions import PyJWKError

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from checks import Checks, changed, collect, equal, leaves, pointer, put, raises, true  # noqa: E402

GATEWAY, TENANT = os.environ["GATEWAY_URL"], os.environ["TENANT"]
KEY, SECOND_KEY, PARTNER_KEY = (os.environ[name] for name in ("API_KEY", "SECOND_API_KEY", "PARTNER_API_KEY"))
NAME = os.environ.get("AGENT", "echo")
OLD = NAME != "echo"
AGENT = f"{GATEWAY}/a2a/{TENANT}/{NAME}"
URLS = {AGENT, GATEWAY.removeprefix("http://")}
# How refusals without a reason of A2A look: the status of the binding.
UNAUTHENTICATED = {"GRPC": "UNAUTHENTICATED"}
NOT_FOUND = {"GRPC": "NOT_FOUND"}
CANCELED, COMPLETED = TaskState.TASK_STATE_CANCELED, TaskState.TASK_STATE_COMPLETED


def connection(key):
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return httpx.AsyncClient(headers=headers, timeout=20, trust_env=False)


async def tenant_keys():
    async with connection(None) as http:
        answer = (await http.get(f"{GATEWAY}/.well-known/a2a-jwks/{TENANT}")).raise_for_status()
    return {jwk["kid"]: jwk for jwk in answer.json()["keys"]}


def channel(url):
    return grpc.aio.insecure_channel(url, options=[("grpc.enable_http_proxy", 0)])


def verifier(keys):
    def key(kid, _jku):
        if kid not in keys:
            raise PyJWKError(f"the tenant has no key {kid}")
        return PyJWK.from_dict(keys[kid])

    return create_signature_verifier(key, ["EdDSA"])


class OneCredential(CredentialService):
    """The key, for whichever bearer scheme the card names."""

    def __init__(self, key):
        self.key = key

    async def get_credentials(self, security_scheme_name, context):
        return self.key


class Caller:
    """One principal on one binding."""

    def __init__(self, card, binding, key):
        self.card, self.binding, self.http = card, binding, connection(key)
        # Over gRPC the key is metadata, which the SDK's own interceptor sets.
        self.interceptors = [AuthInterceptor(OneCredential(key))] if key and binding == "GRPC" else []

    def client(self, *, streaming=False):
        config = ClientConfig(
            streaming=streaming,
            httpx_client=self.http,
            grpc_channel_factory=channel,
            supported_protocol_bindings=[self.binding],
        )
        return ClientFactory(config).create(self.card, self.interceptors)

    async def tell(self, text=None, *, parts=None, task=None, wait=True, context=None):
        """Sends without a stream; gives the task or the direct message."""
        request = SendMessageRequest(
            message=message(text, parts=parts, task=task, context=context),
            configuration=SendMessageConfiguration(return_immediately=not wait),
        )
        [event] = await collect(self.client().send_message(request))
        return event.task if event.HasField("task") else event.message

    def stream(self, text, *, task=None):
        return self.client(streaming=True).send_message(SendMessageRequest(message=message(text, task=task)))

    def get(self, task, **more):
        return self.client().get_task(GetTaskRequest(id=task, **more))

    def cancel(self, task):
        return self.client().cancel_task(CancelTaskRequest(id=task))

    def subscribe(self, task):
        return self.client(streaming=True).subscribe(SubscribeToTaskRequest(id=task))


def message(text=None, *, parts=None, task=None, context=None):
    said = Message(message_id=str(uuid.uuid4()), role=Role.ROLE_USER, parts=parts or [Part(text=text)])
    if task is not None:
        said.task_id, said.context_id = task.id, task.context_id
    if context:
        said.context_id = context
    return said


def state(task):
    return TaskState.Name(task.status.state)


# The card and its signatures.


async def resolver_accepts(verify):
    async with connection(None) as http:
        card = await A2ACardResolver(http, AGENT).get_agent_card(signature_verifier=verify)
    equal(card.name, "Old Echo" if OLD else "Echo Agent", "name")
    equal({interface.url for interface in card.supported_interfaces}, URLS, "interface URLs")
    listed = [(one.protocol_binding, one.protocol_version) for one in card.supported_interfaces]
    for binding in ("JSONRPC", "HTTP+JSON", "GRPC"):
        true((binding, "1.0") in listed, f"interfaces {listed}")
    return card


async def create_client_accepts(verify):
    client = await create_client(AGENT, signature_verifier=verify)
    await client.close()


async def served_card():
    async with connection(None) as http:
        return (await http.get(f"{AGENT}/.well-known/agent-card.json")).raise_for_status().json()


def refuses(verify, document):
    try:
        verify(parse_agent_card(copy.deepcopy(document)))
    except (InvalidSignaturesError, NoSignatureError):
        return
    raise AssertionError("the verifier accepts the changed card")


async def signatures(checks, keys):
    verify = verifier(keys)
    card = await checks.run("the resolver accepts the signed card", resolver_accepts, verify)
    await checks.run("create_client accepts the signed card", create_client_accepts, verify)
    if OLD:  # How a card of the gateway is signed does not hang on the agent.
        return card
    if card is None:
        return None
    view = MessageToDict(card)
    signed = view.pop("signatures", [])
    with_signatures = lambda document: {**document, "signatures": signed}  # noqa: E731
    await checks.run("the view verifies unchanged", verify, parse_agent_card(with_signatures(copy.deepcopy(view))))
    for path, leaf in list(leaves(view)):
        tampered = copy.deepcopy(view)
        put(tampered, path, changed(leaf))
        await checks.run(f"the verifier refuses a change of {pointer(path)}", refuses, verify, with_signatures(tampered))
    for member in view:
        tampered = {name: value for name, value in view.items() if name != member}
        await checks.run(f"the verifier refuses a card without /{member}", refuses, verify, with_signatures(tampered))
    added = {**copy.deepcopy(view), "documentationUrl": "https://elsewhere.example/"}
    await checks.run("the verifier refuses an added member", refuses, verify, with_signatures(added))
    more = copy.deepcopy(view)
    more["supportedInterfaces"].insert(0, {**more["supportedInterfaces"][0], "url": "https://elsewhere.example/"})
    await checks.run("the verifier refuses an added interface", refuses, verify, with_signatures(more))
    await checks.run("the verifier refuses a card without signatures", refuses, verify, view)
    await checks.run("the verifier refuses without the tenant's key", refuses, verifier({}), with_signatures(view))
    return card


# Calls.


async def sends(me):
    task = await me.tell("Grüße, Welt 🌍")
    equal(state(task), "TASK_STATE_COMPLETED", "state")
    equal([artifact.name for artifact in task.artifacts], ["echo"], "artifacts")
    equal(get_artifact_text(task.artifacts[0]), "Grüße, Welt 🌍", "text")
    true(task.id and task.context_id, "a task has an id and a context")


async def keeps_parts(me, data_type, wanted_type):
    value = Value()
    value.struct_value.update({"n": 7, "deep": {"list": [1, "two", None, True]}})
    parts = [
        Part(text="three kinds"),
        Part(data=value, media_type=data_type),
        Part(raw=b"\x00\x01binary\xff", filename="some.bin", media_type="application/octet-stream"),
    ]
    task = await me.tell(parts=parts)
    equal(state(task), "TASK_STATE_COMPLETED", "state")
    parts[1].media_type = wanted_type
    equal(list(task.artifacts[0].parts), parts, "parts")


async def answers_directly(me):
    answer = await me.tell("msg: hello")
    true(isinstance(answer, Message), f"a task came instead of a message: {answer}")
    equal((get_message_text(answer), answer.role), ("msg: hello", Role.ROLE_AGENT), "message")


async def ends_as(me, text, wanted):
    equal(state(await me.tell(text)), wanted, "state")


async def streams(me):
    said = "Grüße in vier Stücken, bitte"
    events = await collect(me.stream(f"stream 4 {said}"))
    kinds = [event.WhichOneof("payload") for event in events]
    equal(kinds[0], "task", f"first of {kinds}")
    equal(kinds[-1], "status_update", f"last of {kinds}")
    equal(state(events[-1].status_update), "TASK_STATE_COMPLETED", "last state")
    earlier = [state(event.status_update) for event in events[:-1] if event.HasField("status_update")]
    true("TASK_STATE_COMPLETED" not in earlier, f"terminal before the end: {earlier}")
    updates = [event.artifact_update for event in events if event.HasField("artifact_update")]
    equal("".join(get_artifact_text(update.artifact) for update in updates), said, "joined text")
    equal([update.append for update in updates], [False, True, True, True], "append")
    equal([update.last_chunk for update in updates], [False, False, False, True], "last_chunk")
    of_task = {getattr(event, kind).task_id for event, kind in zip(events, kinds, strict=True) if kind != "task"}
    equal(of_task, {events[0].task.id}, "task ids")


async def streams_a_message(me):
    events = await collect(me.stream("msg: hello"))
    equal([event.WhichOneof("payload") for event in events], ["message"], "events")
    equal(get_message_text(events[0].message), "msg: hello", "text")


async def gets(me, tells_none=True):
    sent = await me.tell("remember me")
    got = await me.get(sent.id)
    equal((got.id, got.context_id, state(got)), (sent.id, sent.context_id, "TASK_STATE_COMPLETED"), "task")
    equal(get_artifact_text(got.artifacts[0]), "remember me", "text")
    true(len(got.history) >= 1, "the task's history holds what was said")
    if tells_none and not OLD:  # The server of SDK 0.3.26 takes 0 for "all".
        equal(len((await me.get(sent.id, history_length=0)).history), 0, "history of length 0")
    equal(len((await me.get(sent.id, history_length=1)).history), 1, "history of length 1")


async def lists(me):
    first = await me.tell("list one")
    second = await me.tell("list two", context=first.context_id)
    equal(second.context_id, first.context_id, "context")
    client, context = me.client(), first.context_id
    listed = await client.list_tasks(ListTasksRequest(context_id=context))
    equal({task.id for task in listed.tasks}, {first.id, second.id}, "tasks")
    equal((listed.total_size, listed.next_page_token), (2, ""), "total and next page")
    true(not any(task.artifacts for task in listed.tasks), "artifacts only on request")
    full = await client.list_tasks(ListTasksRequest(context_id=context, include_artifacts=True))
    equal({get_artifact_text(task.artifacts[0]) for task in full.tasks}, {"list one", "list two"}, "texts")
    page = await client.list_tasks(ListTasksRequest(context_id=context, page_size=1))
    equal((len(page.tasks), page.page_size, page.total_size), (1, 1, 2), "first page")
    rest = await client.list_tasks(ListTasksRequest(context_id=context, page_size=1, page_token=page.next_page_token))
    equal({page.tasks[0].id, rest.tasks[0].id}, {first.id, second.id}, "both pages")
    equal(rest.next_page_token, "", "token after the last page")
    none = await client.list_tasks(ListTasksRequest(context_id=context, status=TaskState.TASK_STATE_FAILED))
    equal(len(none.tasks), 0, "tasks of another state")


async def can_not_list(me):
    """No operation of 0.3."""
    error = await raises(UnsupportedOperationError, me.client().list_tasks(ListTasksRequest()))
    true(str(error), "the error has a text")


async def slow_task(me):
    task = await me.tell("slow, please", wait=False)
    true(state(task) in ("TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"), f"state {state(task)}")
    return task


async def cancels(me):
    task = await slow_task(me)
    equal(state(await me.cancel(task.id)), "TASK_STATE_CANCELED", "answer")
    equal(state(await me.get(task.id)), "TASK_STATE_CANCELED", "state afterwards")
    error = await raises(TaskNotCancelableError, me.cancel(task.id))
    true(str(error), "a second cancel has a text")


async def subscribes(me, other, task_first=True):
    """One client listens while another one of the same principal cancels."""
    task = await slow_task(me)
    events = me.subscribe(task.id)
    first = await anext(events)
    if OLD and not task_first:  # Subscriptions of 0.3 begin with whatever comes next, those of 1.0 with the task.
        equal((first.WhichOneof("payload"), first.status_update.task_id), ("status_update", task.id), "first event")
    else:
        equal((first.WhichOneof("payload"), first.task.id), ("task", task.id), "first event")
    await other.cancel(task.id)
    seen = [event async for event in events]
    true(seen, "nothing after the cancel")
    equal(state(seen[-1].status_update), "TASK_STATE_CANCELED", "last state")


async def follows_up(me):
    asked = await me.tell("ask me")
    equal(state(asked), "TASK_STATE_INPUT_REQUIRED", "state")
    true(asked.status.HasField("message") and get_message_text(asked.status.message), "the agent says what it wants")
    done = await me.tell("here you are", task=asked)
    equal((done.id, state(done)), (asked.id, "TASK_STATE_COMPLETED"), "task")
    equal(get_artifact_text(done.artifacts[-1]), "here you are", "text")


async def refuses_push(me, call):
    task = await me.tell("push")
    client = me.client()
    config = TaskPushNotificationConfig(task_id=task.id, id="c1", url="https://hooks.example/x")
    calls = {
        "create": lambda: client.create_task_push_notification_config(config),
        "get": lambda: client.get_task_push_notification_config(
            GetTaskPushNotificationConfigRequest(task_id=task.id, id="c1")
        ),
        "list": lambda: client.list_task_push_notification_configs(
            ListTaskPushNotificationConfigsRequest(task_id=task.id)
        ),
        "delete": lambda: client.delete_task_push_notification_config(
            DeleteTaskPushNotificationConfigRequest(task_id=task.id, id="c1")
        ),
        "inline": lambda: collect(
            client.send_message(
                SendMessageRequest(
                    message=message("inline"),
                    configuration=SendMessageConfiguration(task_push_notification_config=config),
                )
            )
        ),
    }
    true(str(await raises(PushNotificationNotSupportedError, calls[call]())), "the error has a text")


async def gets_extended_card(me, verify=None):
    card = await me.client().get_extended_agent_card(GetExtendedAgentCardRequest(), signature_verifier=verify)
    true("trace" in [skill.id for skill in card.skills], f"skills {[skill.id for skill in card.skills]}")
    over_grpc = any(one.protocol_binding == "GRPC" for one in me.card.supported_interfaces)
    equal({one.url for one in card.supported_interfaces}, URLS if over_grpc else {AGENT}, "interface URLs")


# Refusals.


async def task_calls(me, task):
    """What every call on a task raises."""
    said = message("follow-up")
    said.task_id = task
    return [
        await raises(TaskNotFoundError, me.get(task)),
        await raises(TaskNotFoundError, me.cancel(task)),
        await raises(TaskNotFoundError, collect(me.subscribe(task))),
        await raises(TaskNotFoundError, collect(me.client().send_message(SendMessageRequest(message=said)))),
        await raises(
            TaskNotFoundError, collect(me.client(streaming=True).send_message(SendMessageRequest(message=said)))
        ),
    ]


async def misses_unknown_tasks(me):
    for error in await task_calls(me, str(uuid.uuid4())):
        true(error.message, "the error has a text")


async def hides_foreign_tasks(me, second):
    task = await slow_task(me)
    missing = str(uuid.uuid4())
    foreign = [str(error).replace(task.id, missing) for error in await task_calls(second, task.id)]
    equal(foreign, [str(error) for error in await task_calls(second, missing)], "errors")
    if not OLD:
        listed = await second.client().list_tasks(ListTasksRequest(page_size=100))
        true(task.id not in [one.id for one in listed.tasks], "a foreign task is listed")
    true(state(await me.get(task.id)) != "TASK_STATE_CANCELED", "a stranger's cancel was heard")
    await me.cancel(task.id)


async def refuses_without_key(stranger):
    for call in (stranger.tell("hello"), collect(stranger.stream("hello")), stranger.get("t1")):
        error = await raises(A2AClientError, call)
        status = UNAUTHENTICATED.get(stranger.binding, "401")
        true(status in str(error), f"the error does not tell of {status}: {error}")


async def hides_cards_from_partners(partner):
    wanted = MethodNotFoundError if partner.binding == "HTTP+JSON" else A2AClientError
    for call in (partner.tell("hello"), collect(partner.stream("hello")), partner.get("t1")):
        error = await raises(wanted, call)
        status = NOT_FOUND.get(partner.binding, "404")
        true(wanted is MethodNotFoundError or status in str(error), f"the error does not tell of {status}: {error}")


async def refuses_versions(me):
    context = ClientCallContext(service_parameters={"A2A-Version": "9.9"})
    # Over gRPC the SDK sends its own version besides: two versions are no version.
    wanted = InvalidRequestError if me.binding == "GRPC" else VersionNotSupportedError
    error = await raises(wanted, me.client().get_task(GetTaskRequest(id="t1"), context=context))
    true(str(error), "the error has a text")


async def refuses_empty_messages(me):
    empty = SendMessageRequest(message=Message(message_id="m1", role=Role.ROLE_USER))
    true(str(await raises(InvalidParamsError, collect(me.client().send_message(empty)))), "the error has a text")


async def authenticates_as_the_card_says(card, binding):
    async with connection(None) as http:
        config = ClientConfig(
            streaming=False,
            httpx_client=http,
            grpc_channel_factory=channel,
            supported_protocol_bindings=[binding],
        )
        client = ClientFactory(config).create(card, [AuthInterceptor(OneCredential(KEY))])
        [event] = await collect(client.send_message(SendMessageRequest(message=message("by the card"))))
    equal(state(event.task), "TASK_STATE_COMPLETED", "state")


async def binding_checks(checks, card, binding, verify):
    me, again = Caller(card, binding, KEY), Caller(card, binding, KEY)
    second, stranger, partner = (Caller(card, binding, key) for key in (SECOND_KEY, None, PARTNER_KEY))
    run = lambda name, check, *arguments: checks.run(f"{binding}: {name}", check, *arguments)  # noqa: E731
    await run("send gives a task with the text", sends, me)
    # Data parts of 0.3 have no media type, and this one is the default.
    await run("text, data and file parts survive", keeps_parts, me, "application/json", "" if OLD else "application/json")
    await run("send gives a direct message", answers_directly, me)
    await run("a failed task is a task", ends_as, me, "fail now", "TASK_STATE_FAILED")
    await run("a rejected task is a task", ends_as, me, "reject this", "TASK_STATE_REJECTED")
    await run("stream: task first, terminal status last, text whole", streams, me)
    await run("stream of a direct message", streams_a_message, me)
    await run("get honours historyLength", gets, me)
    if OLD:
        await run("list is not supported, typed", can_not_list, me)
    else:
        await run("list gives own tasks, totals and pages", lists, me)
    await run("cancel ends a slow task", cancels, me)
    await run("subscribe ends CANCELED when another client cancels", subscribes, me, again)
    await run("input-required is followed up", follows_up, me)
    for call in ("create", "get", "list", "delete", "inline"):
        await run(f"push {call} is not supported, typed", refuses_push, me, call)
    await run("the extended card has more skills and is signed", gets_extended_card, me, verify)
    await run("the SDK's own authentication follows the card", authenticates_as_the_card_says, card, binding)
    await run("unknown tasks are not found, typed, with text", misses_unknown_tasks, me)
    await run("another principal's task looks missing", hides_foreign_tasks, me, second)
    await run("without a key: 401", refuses_without_key, stranger)
    await run("with the partner's key: 404", hides_cards_from_partners, partner)
    await run("an unknown version is refused, typed", refuses_versions, me)
    await run("a message without parts is refused, typed", refuses_empty_messages, me)
    for caller in (me, again, second, stranger, partner):
        await caller.http.aclose()


async def legacy_checks(checks, card, binding):
    """The SDK's v0.3 transports, which it takes when a card lists nothing newer."""
    old = copy.deepcopy(card)
    kept = [one for one in card.supported_interfaces if one.protocol_version.startswith("0.3")]
    del old.supported_interfaces[:]
    old.supported_interfaces.extend(kept)
    run = lambda name, check, *arguments: checks.run(f"v0.3 {binding}: {name}", check, *arguments)  # noqa: E731
    me, again = Caller(old, binding, KEY), Caller(old, binding, KEY)
    stranger, partner = Caller(old, binding, None), Caller(old, binding, PARTNER_KEY)
    await run("send gives a task with the text", sends, me)
    # Data parts of v0.3 have no media type.
    await run("text, data and file parts survive", keeps_parts, me, "", "")
    await run("send gives a direct message", answers_directly, me)
    await run("stream: task first, terminal status last, text whole", streams, me)
    # The proto behind HTTP+JSON of 0.3 can't tell 0 from "not said".
    await run("get honours historyLength", gets, me, binding == "JSONRPC")
    await run("cancel ends a slow task", cancels, me)
    await run("subscribe ends CANCELED when another client cancels", subscribes, me, again, False)
    await run("input-required is followed up", follows_up, me)
    await run("a failed task is a task", ends_as, me, "fail now", "TASK_STATE_FAILED")
    await run("stream of a direct message", streams_a_message, me)
    for call in ("create", "get", "inline"):
        await run(f"push {call} is not supported, typed", refuses_push, me, call)
    # Unverified: the SDK rebuilds the card from its 0.3 members, which no signature over the 1.0 view can cover.
    await run("the extended card has more skills", gets_extended_card, me)
    await run("unknown tasks are not found, typed, with text", misses_unknown_tasks, me)
    await run("without a key: 401", refuses_without_key, stranger)
    await run("with the partner's key: 404", hides_cards_from_partners, partner)
    await run("a message without parts is refused, typed", refuses_empty_messages, me)
    for caller in (me, again, stranger, partner):
        await caller.http.aclose()


async def main():
    logging.disable(logging.CRITICAL)
    checks = Checks()
    keys = await checks.run("the tenant publishes its keys", tenant_keys) or {}
    card = await signatures(checks, keys)
    if card is None:
        card = await checks.run("the card can be read at all", unverified_card)
    if card is not None:
        for binding in ("JSONRPC", "HTTP+JSON"):
            await binding_checks(checks, card, binding, verifier(keys))
            await legacy_checks(checks, card, binding)
        await binding_checks(checks, card, "GRPC", verifier(keys))
    return checks.close()


async def unverified_card():
    return parse_agent_card(await served_card())


sys.exit(asyncio.run(main()))
