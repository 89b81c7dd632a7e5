"""The Python a2a-sdk 1.3.0 behind a gateway: an echo over JSON-RPC at `/` and HTTP+JSON below `/rest`. Takes its port."""

import sys

import uvicorn
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes.agent_card_routes import create_agent_card_routes
from a2a.server.routes.jsonrpc_routes import create_jsonrpc_routes
from a2a.server.routes.rest_routes import create_rest_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill, Task, TaskState, TaskStatus
from starlette.applications import Starlette

PORT = int(sys.argv[1])
URL = f"http://127.0.0.1:{PORT}"
CARD = AgentCard(
    name="a2a-sdk 1.3",
    description="Echoes.",
    version="1.0.0",
    supported_interfaces=[
        AgentInterface(url=URL, protocol_binding="JSONRPC", protocol_version="1.0"),
        AgentInterface(url=f"{URL}/rest", protocol_binding="HTTP+JSON", protocol_version="1.0"),
    ],
    capabilities=AgentCapabilities(streaming=True),
    default_input_modes=["text/plain"],
    default_output_modes=["text/plain"],
    skills=[AgentSkill(id="echo", name="Echo", description="Echoes.", tags=["echo"])],
)


class Echo(AgentExecutor):
    async def execute(self, context, event_queue):
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        submitted = TaskStatus(state=TaskState.TASK_STATE_SUBMITTED)
        task = Task(id=context.task_id, context_id=context.context_id, status=submitted, history=[context.message])
        await event_queue.enqueue_event(task)
        await updater.start_work()
        await updater.add_artifact(list(context.message.parts), name="echo")
        await updater.complete()

    async def cancel(self, context, event_queue):
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


handler = DefaultRequestHandler(agent_executor=Echo(), task_store=InMemoryTaskStore(), agent_card=CARD)
routes = [
    *create_agent_card_routes(CARD),
    *create_jsonrpc_routes(handler, rpc_url="/"),
    *create_rest_routes(handler, path_prefix="/rest"),
]
uvicorn.run(Starlette(routes=routes), host="127.0.0.1", port=PORT, log_level="warning")
