"""An agent's outgoing calls as programs of the legacy wire make them: the standard library, a base URL, a key, a card.

    legacy_program.py BASE_URL KEY CARD_ID [DELEGATION_HEADER=VALUE …]

The headers are those that the agent was called with; it copies every one that begins with x-brutor-delegation-.
"""
import json
import sys
import urllib.error
import urllib.request
import uuid

BASE_URL, KEY, CARD = sys.argv[1:4]
INCOMING = dict(argument.split("=", 1) for argument in sys.argv[4:])
TERMINAL = {"completed", "TASK_STATE_COMPLETED", "failed", "TASK_STATE_FAILED", "rejected", "TASK_STATE_REJECTED"}


class Blocked(Exception):
    pass


def call_outbound(text, capability="say"):
    body = {
        "target_card_id": CARD,
        "capability": capability,
        "message": {"messageId": str(uuid.uuid4()), "role": "user", "parts": [{"kind": "text", "text": text}]},
    }
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json", "X-Tenant-ID": "ignored",
               "x-brutor-run-id": "run-1", "X-Brutor-Agent-Name": "legacy-program"}
    headers.update({k: v for k, v in INCOMING.items() if k.lower().startswith("x-brutor-delegation-")})
    request = urllib.request.Request(f"{BASE_URL}/v1/proxy/a2a/outbound", json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            assert response.headers["x-brutor-run-id"] == "run-1"
            return json.load(response)
    except urllib.error.HTTPError as error:
        told = json.load(error)
        if error.code == 403 and told.get("error") == "guardrail_blocked":
            assert told["surface"] == "a2a_outbound" and told["message"] and told["correlation_id"], told
            raise Blocked(told["guardrail"]) from error
        raise RuntimeError(f"{error.code} {told}") from error


def task_of(answer):
    return answer.get("task") or answer.get("result") or {}


task = task_of(call_outbound("is this payee on a list?"))
state = task["status"]["state"]
assert state in TERMINAL, task
try:
    call_outbound("a forbidden thing")
    blocked = "nothing"
except Blocked as block:
    blocked = str(block)
try:
    call_outbound("hello", capability="no-such-skill")
    unknown = "taken"
except RuntimeError as error:
    assert "say" in str(error), error
    unknown = str(error).split()[0]
print(f"state={state} blocked={blocked} unknown={unknown}")
