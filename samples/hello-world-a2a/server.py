"""hello-world-a2a: the smallest A2A agent, in Starlette.

A JSON-RPC envelope posted to /message:send or /message:stream; nothing is remembered between requests.
Run it with `uvicorn server:app --host 127.0.0.1 --port 9100`.
"""

import json
import os
import uuid

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, StreamingResponse
from starlette.routing import Route

PUBLIC_URL = os.environ.get("PUBLIC_URL", "http://127.0.0.1:9100")
GREETING = "Hello from Brutor A2A sample! You said: "
BODY_LIMIT = 256 * 1024

AGENT_CARD = {
    "name": "Hello World A2A (Brutor sample)",
    "description": "Demonstrates A2A v1.0 discovery, message:send, and message:stream behind the gateway.",
    "version": "1.0.0",
    "protocolVersion": "1.0",
    "defaultInputModes": ["text/plain"],
    "defaultOutputModes": ["text/plain"],
    "capabilities": {"streaming": True},
    "supportedInterfaces": [{"protocolBinding": "JSONRPC", "url": PUBLIC_URL}],
    "skills": [
        {
            "id": "hello",
            "name": "hello",
            "description": "Returns a greeting that echoes the caller's input.",
            "tags": ["hello", "demo"],
        }
    ],
}


class Refused(Exception):
    """A body that cannot be answered: HTTP status, JSON-RPC code, text."""

    def __init__(self, status, code, text):
        super().__init__(text)
        self.status, self.code, self.text = status, code, text


async def read(request: Request):
    """The envelope's id and the message; members that are missing are answered, not refused."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > BODY_LIMIT:
            raise Refused(413, -32600, "The body is larger than 256 KiB")
    try:
        envelope = json.loads(body)
    except ValueError:
        envelope = None
    if not isinstance(envelope, dict):
        raise Refused(400, -32700, "The body is not a JSON object")
    params = envelope.get("params")
    message = params.get("message") if isinstance(params, dict) else None
    return envelope.get("id"), message if isinstance(message, dict) else {}


def artifact(message: dict) -> dict:
    parts = message.get("parts")
    texts = [p["text"] for p in parts if isinstance(p, dict) and isinstance(p.get("text"), str)] if isinstance(parts, list) else []
    return {
        "artifactId": str(uuid.uuid4()),
        "name": "greeting",
        "parts": [{"kind": "text", "text": GREETING + (texts[0] if texts else "")}],
    }


async def message_send(request: Request):
    rpc_id, message = await read(request)
    task = {
        "id": str(uuid.uuid4()),
        "contextId": str(uuid.uuid4()),
        "status": {"state": "completed"},
        "history": [message],
        "artifacts": [artifact(message)],
    }
    return JSONResponse({"jsonrpc": "2.0", "id": rpc_id, "result": task})


async def message_stream(request: Request):
    rpc_id, message = await read(request)
    ids = {"taskId": str(uuid.uuid4()), "contextId": str(uuid.uuid4())}

    async def events():
        for event in (
            {"kind": "status-update", **ids, "status": {"state": "working"}},
            {"kind": "artifact-update", **ids, "artifact": artifact(message)},
            {"kind": "status-update", **ids, "status": {"state": "completed"}, "final": True},
        ):
            yield f"data: {json.dumps({'jsonrpc': '2.0', 'id': rpc_id, 'result': event})}\n\n"

    headers = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
    return StreamingResponse(events(), media_type="text/event-stream", headers=headers)


async def refused(_request: Request, why: Refused):
    error = {"code": why.code, "message": why.text}
    return JSONResponse({"jsonrpc": "2.0", "id": None, "error": error}, status_code=why.status)


async def health(_request: Request):
    return JSONResponse({"status": "ok"})


async def card(_request: Request):
    return JSONResponse(AGENT_CARD)


app = Starlette(
    routes=[
        Route("/health", health, methods=["GET"]),
        Route("/.well-known/agent-card.json", card, methods=["GET"]),
        # Some HTTP clients percent-encode the colon, and a router may take the two spellings for different paths.
        Route("/message:send", message_send, methods=["POST"]),
        Route("/message%3Asend", message_send, methods=["POST"]),
        Route("/message:stream", message_stream, methods=["POST"]),
        Route("/message%3Astream", message_stream, methods=["POST"]),
    ],
    exception_handlers={Refused: refused},
)
