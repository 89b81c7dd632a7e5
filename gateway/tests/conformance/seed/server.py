import json, uuid
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, StreamingResponse
from starlette.routing import Route

PUBLIC_URL = "http://host.docker.internal:9100"

AGENT_CARD = {
    "name": "My Agent",
    "description": "Does one thing well.",
    "version": "1.0.0",
    "protocolVersion": "1.0",
    "defaultInputModes": ["text/plain"],
    "defaultOutputModes": ["text/plain"],
    "capabilities": {"streaming": True},
    "supportedInterfaces": [{"protocolBinding": "JSONRPC", "url": PUBLIC_URL}],
    "skills": [{"id": "hello", "name": "hello",
                "description": "Echo greeting", "tags": ["demo"]}],
}

def extract_text(message: dict) -> str:
    for p in message.get("parts") or []:
        if isinstance(p, dict) and isinstance(p.get("text"), str):
            return p["text"]
    return ""

async def message_send(request: Request) -> JSONResponse:
    body = await request.json()
    message = (body.get("params") or {}).get("message") or {}
    reply = f"Hello! You said: {extract_text(message)}"
    task = {
        "id": str(uuid.uuid4()),
        "contextId": str(uuid.uuid4()),
        "status": {"state": "completed"},
        "history": [message],
        "artifacts": [{
            "artifactId": str(uuid.uuid4()),
            "name": "greeting",
            "parts": [{"kind": "text", "text": reply}],
        }],
    }
    return JSONResponse({"jsonrpc": "2.0", "id": body.get("id"), "result": task})

async def message_stream(request: Request):
    body = await request.json()
    message = (body.get("params") or {}).get("message") or {}
    reply = f"Hello! You said: {extract_text(message)}"
    task_id, ctx_id = str(uuid.uuid4()), str(uuid.uuid4())

    async def events():
        def frame(payload):
            return f"data: {json.dumps({'jsonrpc': '2.0', 'id': body.get('id'), 'result': payload})}\n\n"
        yield frame({"kind": "status-update", "taskId": task_id,
                     "contextId": ctx_id, "status": {"state": "working"}})
        yield frame({"kind": "artifact-update", "taskId": task_id, "contextId": ctx_id,
                     "artifact": {"artifactId": str(uuid.uuid4()), "name": "greeting",
                                  "parts": [{"kind": "text", "text": reply}]}})
        yield frame({"kind": "status-update", "taskId": task_id, "contextId": ctx_id,
                     "status": {"state": "completed"}, "final": True})

    return StreamingResponse(events(), media_type="text/event-stream",
                             headers={"Cache-Control": "no-cache", "X-Accel-Buffering": "no"})

app = Starlette(routes=[
    Route("/health", lambda r: JSONResponse({"status": "ok"}), methods=["GET"]),
    Route("/.well-known/agent-card.json", lambda r: JSONResponse(AGENT_CARD), methods=["GET"]),
    # Register BOTH the literal ':' and percent-encoded '%3A' forms —
    # some HTTP clients (reqwest in the Rust gateway included) percent-encode
    # the colon in path segments, and routers treat the two as different paths.
    Route("/message:send", message_send, methods=["POST"]),
    Route("/message%3Asend", message_send, methods=["POST"]),
    Route("/message:stream", message_stream, methods=["POST"]),
    Route("/message%3Astream", message_stream, methods=["POST"]),
])
