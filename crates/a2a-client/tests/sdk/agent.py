"""An agent made with the Python a2a-sdk 1.3.0, for the client's tests: every binding of 1.0, and those of 0.3 that the SDK serves.

Takes `PORT GRPC_PORT`. Serves JSON-RPC at `/`, HTTP+JSON below `/rest` and gRPC at its own port, and plays the part of the sample
agent `echo`: `msg:` is answered by a message, `stream N` in pieces, `slow` works until it is cancelled, `ask` asks.
"""

import asyncio
import sys

import grpc.aio
import uvicorn
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.request_handlers.grpc_handler import GrpcHandler
from a2a.server.routes.agent_card_routes import create_agent_card_routes
from a2a.server.routes.jsonrpc_routes import create_jsonrpc_routes
from a2a.server.routes.rest_routes import create_rest_routes
from a2a.server.tasks import InMemoryPushNotificationConfigStore, InMemoryTaskStore, TaskUpdater
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
from starlette.applications import Starlette

PORT, GRPC_PORT = sys.argv[1:3]
URL = f"http://127.0.0.1:{PORT}"
LONGEST = 60
CARD = AgentCard(
    name="a2a-sdk 1.3.0",
    description="Echoes.",
    version="1.0.0",
    supported_interfaces=[
        AgentInterface(url=URL, protocol_binding="JSONRPC", protocol_version="1.0"),
        AgentInterface(url=f"{URL}/rest", protocol_binding="HTTP+JSON", protocol_version="1.0"),
        AgentInterface(url=f"127.0.0.1:{GRPC_PORT}", protocol_binding="GRPC", protocol_version="1.0"),
        AgentInterface(url=URL, protocol_binding="JSONRPC", protocol_version="0.3"),
        AgentInterface(url=f"{URL}/rest", protocol_binding="HTTP+JSON", protocol_version="0.3"),
    ],
    capabilities=AgentCapabilities(streaming=True, push_notifications=True, extended_agent_card=True),
    default_input_modes=["text/plain"],
    default_output_modes=["text/plain"],
    skills=[AgentSkill(id="echo", name="Echo", description="Echoes.", tags=["echo"])],
)


class Echo(AgentExecutor):
    async def execute(self, context, event_queue):
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        text, parts = context.get_user_input(), list(context.message.parts)
        if text.startswith("msg:"):
            await event_queue.enqueue_event(updater.new_agent_message(parts))
            return
        if context.current_task is None:
            submitted = TaskStatus(state=TaskState.TASK_STATE_SUBMITTED)
            task = Task(id=context.task_id, context_id=context.context_id, status=submitted, history=[context.message])
            await event_queue.enqueue_event(task)
            if text == "ask":
                await updater.requires_input(updater.new_agent_message([Part(text="What shall I echo?")]))
                return
        await updater.start_work()
        if text == "slow":
            await asyncio.sleep(LONGEST)
        elif text.startswith("stream "):
            _, count, rest = text.split(" ", 2)
            await pour(updater, rest, int(count))
        else:
            await updater.add_artifact(parts, name="echo")
        await updater.complete()

    async def cancel(self, context, event_queue):
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


async def pour(updater, text, count):
    size = len(text) // count
    for at in range(count):
        last = at == count - 1
        piece = text[at * size :] if last else text[at * size : (at + 1) * size]
        await updater.add_artifact([Part(text=piece)], artifact_id="echo", append=at > 0, last_chunk=last)


async def anywhere(_url):
    """Nothing is delivered; the client's webhook is not there."""
    return True


async def main():
    handler = DefaultRequestHandler(
        agent_executor=Echo(),
        task_store=InMemoryTaskStore(),
        agent_card=CARD,
        push_config_store=InMemoryPushNotificationConfigStore(),
        extended_agent_card=CARD,
        push_url_validator=anywhere,
    )
    routes = [
        *create_agent_card_routes(CARD),
        *create_jsonrpc_routes(handler, rpc_url="/", enable_v0_3_compat=True),
        *create_rest_routes(handler, path_prefix="/rest", enable_v0_3_compat=True),
    ]
    over_grpc = grpc.aio.server()
    a2a_pb2_grpc.add_A2AServiceServicer_to_server(GrpcHandler(handler), over_grpc)
    over_grpc.add_insecure_port(f"127.0.0.1:{GRPC_PORT}")
    await over_grpc.start()
    where = {"host": "127.0.0.1", "port": int(PORT), "log_level": "warning"}
    await uvicorn.Server(uvicorn.Config(Starlette(routes=routes), timeout_graceful_shutdown=1, **where)).serve()
    await over_grpc.stop(0)


asyncio.run(main())
