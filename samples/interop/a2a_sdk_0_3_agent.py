"""The Python a2a-sdk 0.3.26 behind a gateway: an echo over JSON-RPC at `/` and HTTP+JSON below `/rest`. Takes its port."""

import sys

import uvicorn
from a2a.server.agent_execution import AgentExecutor
from a2a.server.apps import A2ARESTFastAPIApplication, A2AStarletteApplication
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill
from a2a.utils import new_task

PORT = int(sys.argv[1])
URL = f"http://127.0.0.1:{PORT}"
CARD = AgentCard(
    name="a2a-sdk 0.3",
    description="Echoes.",
    version="1.0.0",
    url=URL,
    preferred_transport="JSONRPC",
    additional_interfaces=[AgentInterface(transport="HTTP+JSON", url=f"{URL}/rest")],
    capabilities=AgentCapabilities(streaming=True),
    default_input_modes=["text/plain"],
    default_output_modes=["text/plain"],
    skills=[AgentSkill(id="echo", name="Echo", description="Echoes.", tags=["echo"])],
)


class Echo(AgentExecutor):
    async def execute(self, context, event_queue):
        task = context.current_task or new_task(context.message)
        await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)
        await updater.start_work()
        await updater.add_artifact(context.message.parts, name="echo")
        await updater.complete()

    async def cancel(self, context, event_queue):
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


handler = DefaultRequestHandler(Echo(), InMemoryTaskStore())
app = A2AStarletteApplication(CARD, handler).build()
app.mount("/rest", A2ARESTFastAPIApplication(CARD, handler).build())
uvicorn.run(app, host="127.0.0.1", port=PORT, log_level="warning")
