"""strands-agents behind a gateway, with a model that only echoes. Takes its port."""

import sys

from strands import Agent
from strands.models import Model
from strands.multiagent.a2a import A2AServer

PORT = int(sys.argv[1])


class Echo(Model):
    """Says the last text again, in the events of a model."""

    def update_config(self, **_):
        pass

    def get_config(self):
        return {}

    async def structured_output(self, *_, **__):
        raise NotImplementedError
        yield

    async def stream(self, messages, *_, **__):
        said = "".join(block.get("text", "") for block in messages[-1]["content"])
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockStart": {"start": {}}}
        yield {"contentBlockDelta": {"delta": {"text": said}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn"}}
        yield {"metadata": {"usage": {"inputTokens": 0, "outputTokens": 0, "totalTokens": 0}, "metrics": {"latencyMs": 0}}}


agent = Agent(model=Echo(), name="strands", description="Echoes.", callback_handler=None)
A2AServer(agent=agent, host="127.0.0.1", port=PORT).serve()
