"""a2akit behind a gateway: an echo, without a model. Takes its port and, if not JSON-RPC, `http+json`."""

import sys

import uvicorn
from a2akit import A2AServer, AgentCardConfig, CapabilitiesConfig, Worker

PORT = int(sys.argv[1])
PROTOCOL = sys.argv[2] if len(sys.argv) > 2 else "jsonrpc"


class Echo(Worker):
    async def handle(self, ctx):
        await ctx.complete(ctx.user_text)


card = AgentCardConfig(
    name="a2akit",
    description="Echoes.",
    version="1.0.0",
    protocol=PROTOCOL,
    capabilities=CapabilitiesConfig(streaming=True),
)
app = A2AServer(worker=Echo(), agent_card=card).as_fastapi_app()
uvicorn.run(app, host="127.0.0.1", port=PORT, log_level="warning")
