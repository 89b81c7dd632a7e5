"""google-adk behind a gateway: an agent of its own kind without a model, which echoes. Takes its port."""

import sys

import uvicorn
from google.adk.a2a.utils.agent_to_a2a import to_a2a
from google.adk.agents import BaseAgent
from google.adk.events import Event
from google.genai import types

PORT = int(sys.argv[1])


class Echo(BaseAgent):
    async def _run_async_impl(self, ctx):
        said = "".join(part.text or "" for part in ctx.user_content.parts)
        content = types.Content(role="model", parts=[types.Part(text=said)])
        yield Event(author=self.name, invocation_id=ctx.invocation_id, content=content)


app = to_a2a(Echo(name="echo", description="Echoes."), host="127.0.0.1", port=PORT)
uvicorn.run(app, host="127.0.0.1", port=PORT, log_level="warning")
