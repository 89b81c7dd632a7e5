"""The reference agent for the compatibility kit of A2A 0.3, made with the Python a2a-sdk 0.3.26.

Takes `PORT PUSH`. Serves JSON-RPC and HTTP+JSON at the root of one address, where the kit looks for both; cards that name one
of them alone are at `/cards/{jsonrpc,rest}.json`, for a gateway that shall speak nothing else with it. A message whose id
the kit names for subscriptions is worked on for four seconds, every other one briefly. Push notifications are `on` or
`off`, as PUSH says: the gateway's own cards say that they are off.
"""

import asyncio
import sys

import uvicorn
from a2a.server.agent_execution import AgentExecutor
from a2a.server.apps import A2ARESTFastAPIApplication, A2AStarletteApplication
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.tasks import InMemoryPushNotificationConfigStore, InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill, Part, TextPart
from a2a.utils import new_task

PORT, PUSH = int(sys.argv[1]), {"on": True, "off": False}[sys.argv[2]]
URL = f"http://127.0.0.1:{PORT}/"
# The kit waits twice its streaming timeout of two seconds.
LONG_WORK, SHORT_WORK = 4, 0.5
CARD = AgentCard(
    name="Reference 0.3",
    description="Answers the compatibility kit.",
    version="1.0.0",
    url=URL,
    preferred_transport="JSONRPC",
    additional_interfaces=[
        AgentInterface(transport="JSONRPC", url=URL),
        AgentInterface(transport="HTTP+JSON", url=URL),
    ],
    capabilities=AgentCapabilities(streaming=True, push_notifications=PUSH),
    default_input_modes=["text/plain"],
    default_output_modes=["text/plain"],
    skills=[AgentSkill(id="kit", name="Kit", description="Answers the kit.", tags=["test"])],
    supports_authenticated_extended_card=True,
)


class Answers(AgentExecutor):
    async def execute(self, context, event_queue):
        task = context.current_task
        if task is None:
            task = new_task(context.message)
            await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)
        await updater.start_work()
        long = context.message.message_id.startswith("test-resubscribe-message-id")
        await asyncio.sleep(LONG_WORK if long else SHORT_WORK)
        said = Part(root=TextPart(text=f"You said: {context.get_user_input()}"))
        await updater.add_artifact([said], name="response")
        # The kit goes on with the tasks that it made and cancels them: a task that completes would refuse.
        await updater.requires_input(updater.new_agent_message([said]), final=True)

    async def cancel(self, context, event_queue):
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


configs = InMemoryPushNotificationConfigStore() if PUSH else None
handler = DefaultRequestHandler(Answers(), InMemoryTaskStore(), push_config_store=configs)
app = A2ARESTFastAPIApplication(CARD, handler, extended_agent_card=CARD).build()
A2AStarletteApplication(CARD, handler, extended_agent_card=CARD).add_routes_to_app(app)
for name, binding in {"jsonrpc": "JSONRPC", "rest": "HTTP+JSON"}.items():
    only = [AgentInterface(transport=binding, url=URL)]
    alone = CARD.model_copy(update={"preferred_transport": binding, "additional_interfaces": only})
    document = alone.model_dump(by_alias=True, exclude_none=True)
    app.add_api_route(f"/cards/{name}.json", lambda document=document: document)
# Streams that the kit left open must not keep it alive.
uvicorn.run(app, host="127.0.0.1", port=PORT, log_level="warning", timeout_graceful_shutdown=1)
