"""An agent of the Python a2a-sdk 0.3.26, over JSON-RPC at `/` and over HTTP+JSON below `/rest`, each with a card of its own.

Takes its port. Plays what the sample `echo` plays, so that the same checks fit both: `msg:`, `slow`, `ask`, `fail`,
`reject` and `stream N` begin a text; everything else comes back as an artifact named `echo`.
"""

import asyncio
import sys

import uvicorn
from a2a.server.agent_execution import AgentExecutor
from a2a.server.apps import A2ARESTFastAPIApplication, A2AStarletteApplication
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentSkill, Part, TextPart
from a2a.utils import new_agent_parts_message, new_agent_text_message, new_task

PORT = int(sys.argv[1])
URL = f"http://127.0.0.1:{PORT}"
# A subscription of this SDK begins with the next event, whatever it is; so that a listener knows it hears.
PACE = 0.1


def skill(name):
    return AgentSkill(id=name, name=name.capitalize(), description="Gives back every part.", tags=["echo"])


def card(transport, url, *more):
    return AgentCard(
        name="Old Echo",
        description="Gives back every part of a message.",
        version="1.0.0",
        url=url,
        preferred_transport=transport,
        capabilities=AgentCapabilities(streaming=True, push_notifications=True),
        default_input_modes=["text/plain", "application/json", "application/octet-stream"],
        default_output_modes=["text/plain", "application/json", "application/octet-stream"],
        skills=[skill("echo"), *map(skill, more)],
        supports_authenticated_extended_card=True,
    )


class Echo(AgentExecutor):
    async def execute(self, context, event_queue):
        text, parts = context.get_user_input(), context.message.parts
        if text.startswith("msg:"):
            await event_queue.enqueue_event(new_agent_parts_message(parts, context.context_id, context.task_id))
            return
        asked = context.current_task is not None
        task = context.current_task or new_task(context.message)
        if not asked:  # A task that waits for input would end the answer.
            await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)
        say = lambda words: new_agent_text_message(words, task.context_id, task.id)  # noqa: E731
        await updater.start_work()
        if text.startswith("slow"):
            while True:
                await asyncio.sleep(PACE)
                await updater.start_work(say("Taking my time."))
        elif text.startswith("ask") and not asked:
            await updater.requires_input(say("What shall I echo?"), final=True)
        elif text.startswith("fail"):
            await updater.failed(say("This task fails, as was asked for."))
        elif text.startswith("reject"):
            await updater.reject(say("This task is rejected, as was asked for."))
        elif text.startswith("stream "):
            _, count, rest = text.split(" ", 2)
            await pour(updater, rest, int(count))
        else:
            await updater.add_artifact(parts, name="echo")
            await updater.complete()

    async def cancel(self, context, event_queue):
        # As the SDK has it, this reaches the canceller alone: who subscribed sees no end, unless the gateway asks for it.
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


async def pour(updater, text, count):
    cuts = [at * len(text) // count for at in range(count + 1)]
    for at in range(count):
        piece = Part(root=TextPart(text=text[cuts[at] : cuts[at + 1]]))
        last = at + 1 == count
        await updater.add_artifact([piece], artifact_id="echo", name="echo", append=at > 0, last_chunk=last)
    await updater.complete()


handler = DefaultRequestHandler(Echo(), InMemoryTaskStore())
rpc, rest = (card(transport, url) for transport, url in (("JSONRPC", URL), ("HTTP+JSON", f"{URL}/rest")))
rpc_extended, rest_extended = card("JSONRPC", URL, "trace"), card("HTTP+JSON", f"{URL}/rest", "trace")
app = A2AStarletteApplication(rpc, handler, extended_agent_card=rpc_extended).build()
app.mount("/rest", A2ARESTFastAPIApplication(rest, handler, extended_agent_card=rest_extended).build())
uvicorn.run(app, host="127.0.0.1", port=PORT, log_level="warning")
