"""The reference agent for the compatibility kit of A2A 1.0, made with the Python a2a-sdk 1.3.0.

Takes `PORT GRPC_PORT PUSH`. Serves JSON-RPC at `/`, HTTP+JSON at `/rest` and gRPC at its own port, and plays the scenarios
of the kit (its `scenarios/*.feature`), which the id of the message names. Cards that name one binding alone are at
`/cards/{jsonrpc,http_json,grpc}.json`, for a gateway that shall speak nothing else with it. The extended card is on; push
notifications are `on` or `off`, as PUSH says: the gateway's own cards say that they are off.
"""

import asyncio
import sys

import grpc.aio
import httpx
import uvicorn
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.request_handlers.grpc_handler import GrpcHandler
from a2a.server.routes.agent_card_routes import create_agent_card_routes
from a2a.server.routes.jsonrpc_routes import create_jsonrpc_routes
from a2a.server.routes.rest_routes import create_rest_routes
from a2a.server.tasks import (
    BasePushNotificationSender,
    InMemoryPushNotificationConfigStore,
    InMemoryTaskStore,
    TaskUpdater,
)
from a2a.types import a2a_pb2_grpc
from a2a.types.a2a_pb2 import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    AgentSkill,
    Part,
    Task,
    TaskState,
    TaskStatus,
)
from google.protobuf.json_format import ParseDict
from google.protobuf.struct_pb2 import Value
from starlette.applications import Starlette

PORT, GRPC_PORT = sys.argv[1:3]
PUSH = {"on": True, "off": False}[sys.argv[3]]
URL = f"http://127.0.0.1:{PORT}"
# The kit waits twice its streaming timeout of two seconds.
LONG_WORK = 4
CARD = AgentCard(
    name="Reference 1.0",
    description="Plays the scenarios of the compatibility kit.",
    version="1.0.0",
    supported_interfaces=[
        AgentInterface(url=URL, protocol_binding="JSONRPC", protocol_version="1.0"),
        AgentInterface(url=f"{URL}/rest", protocol_binding="HTTP+JSON", protocol_version="1.0"),
        AgentInterface(url=f"127.0.0.1:{GRPC_PORT}", protocol_binding="GRPC", protocol_version="1.0"),
    ],
    capabilities=AgentCapabilities(streaming=True, push_notifications=PUSH, extended_agent_card=True),
    default_input_modes=["text/plain"],
    default_output_modes=["text/plain"],
    skills=[AgentSkill(id="kit", name="Kit", description="Plays the scenarios.", tags=["test"])],
)
BINDINGS = {"jsonrpc": "JSONRPC", "http_json": "HTTP+JSON", "grpc": "GRPC"}
FILE = {"filename": "output.txt", "media_type": "text/plain"}
DATA = ParseDict({"key": "value", "count": 42}, Value())

# What each prefix of a message's id adds as artifact, before the task completes.
ARTIFACTS = {
    "tck-artifact-text": Part(text="Generated text content"),
    "tck-artifact-file-url": Part(url="https://example.com/output.txt", **FILE),
    "tck-artifact-file": Part(raw=b"tck", **FILE),
    "tck-artifact-data": Part(data=DATA),
    "tck-stream-001": Part(text="Stream hello from TCK"),
    "tck-stream-003": Part(text="Stream task lifecycle"),
    "tck-stream-ordering-001": Part(text="Ordered output"),
    "tck-stream-artifact-text": Part(text="Streamed text content"),
    "tck-stream-artifact-file": Part(raw=b"tck", **FILE),
}


class Scenarios(AgentExecutor):
    async def execute(self, context, event_queue):
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        named = context.message.message_id
        if named.startswith("tck-message-response"):
            await event_queue.enqueue_event(updater.new_agent_message([Part(text="Direct message response")]))
            return
        if context.current_task is None:
            submitted = TaskStatus(state=TaskState.TASK_STATE_SUBMITTED)
            task = Task(id=context.task_id, context_id=context.context_id, status=submitted, history=[context.message])
            await event_queue.enqueue_event(task)
        await self.play(named, updater)

    async def play(self, named, updater):
        if named.startswith("tck-input-required"):
            await updater.requires_input()
            return
        if named.startswith("tck-reject-task"):
            await updater.reject()
            return
        if named.startswith(("tck-stream", "test-resubscribe")):
            await updater.start_work()
        if named.startswith("test-resubscribe-message-id"):
            await asyncio.sleep(LONG_WORK)
        if named.startswith("tck-stream-artifact-chunked"):
            await updater.add_artifact([Part(text="chunk-1 ")], artifact_id="chunked")
            await updater.add_artifact([Part(text="chunk-2")], artifact_id="chunked", append=True, last_chunk=True)
        elif part := artifact(named):
            await updater.add_artifact([part])
        said = named.startswith("tck-complete-task")
        await updater.complete(updater.new_agent_message([Part(text="Hello from TCK")]) if said else None)

    async def cancel(self, context, event_queue):
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


def artifact(named):
    prefixes = sorted(filter(named.startswith, ARTIFACTS), key=len)
    return ARTIFACTS[prefixes[-1]] if prefixes else None


def alone(binding):
    """The card with the one interface of this binding."""
    card = AgentCard()
    card.CopyFrom(CARD)
    del card.supported_interfaces[:]
    card.supported_interfaces.extend(one for one in CARD.supported_interfaces if one.protocol_binding == binding)
    return card


async def anywhere(_url):
    """The kit's receiver is on this machine, where the SDK would not deliver."""
    return True


async def main():
    configs = InMemoryPushNotificationConfigStore()
    handler = DefaultRequestHandler(
        agent_executor=Scenarios(),
        task_store=InMemoryTaskStore(),
        agent_card=CARD,
        push_config_store=configs if PUSH else None,
        push_sender=BasePushNotificationSender(httpx.AsyncClient(), configs, push_url_validator=anywhere) if PUSH else None,
        extended_agent_card=CARD,
        push_url_validator=anywhere,
    )
    routes = [
        *create_agent_card_routes(CARD),
        *(
            route
            for name, binding in BINDINGS.items()
            for route in create_agent_card_routes(alone(binding), card_url=f"/cards/{name}.json")
        ),
        *create_jsonrpc_routes(handler, rpc_url="/"),
        *create_rest_routes(handler, path_prefix="/rest"),
    ]
    over_grpc = grpc.aio.server()
    a2a_pb2_grpc.add_A2AServiceServicer_to_server(GrpcHandler(handler), over_grpc)
    over_grpc.add_insecure_port(f"127.0.0.1:{GRPC_PORT}")
    await over_grpc.start()
    where = {"host": "127.0.0.1", "port": int(PORT), "log_level": "warning"}
    # Streams that the kit left open must not keep it alive.
    config = uvicorn.Config(Starlette(routes=routes), timeout_graceful_shutdown=1, **where)
    await uvicorn.Server(config).serve()
    await over_grpc.stop(0)


asyncio.run(main())
