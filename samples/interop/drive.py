"""Calls one agent through the gateway: send, get and stream, as a caller of each dialect.

Takes `NAME CARD_URL [SETTINGS]` (the card's, as JSON) and GATEWAY_URL, ADMIN_URL, ADMIN_TOKEN, TENANT, API_KEY (of `demo.env`) and CHANCERY (the binary).
Imports the agent by its card with the command line, then calls it with nothing but urllib. Prints a line per dialect and
operation; exits with 1 when one of them failed. An agent that answers with a message has no task to get: `-`.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import uuid

GATEWAY, TENANT, KEY = (os.environ[name] for name in ("GATEWAY_URL", "TENANT", "API_KEY"))
SAID = "Grüße 🌍"
DEADLINE = 20
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))
ENDS = ("completed", "TASK_STATE_COMPLETED")


def new_message():
    return {"messageId": str(uuid.uuid4()), "role": "ROLE_USER", "parts": [{"text": SAID}]}


def old_message():
    parts = [{"kind": "text", "text": SAID}]
    return {"kind": "message", "messageId": str(uuid.uuid4()), "role": "user", "parts": parts}


class Rpc:
    """JSON-RPC of one generation."""

    def __init__(self, url, version, methods, message):
        self.url, self.version, self.methods, self.message = url, version, methods, message

    def ask(self, method, params):
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return exchange("POST", self.url, self.version, body)

    def send(self):
        return self.ask(self.methods[0], {"message": self.message()})

    def stream(self):
        return self.ask(self.methods[1], {"message": self.message()})

    def get(self, task):
        return self.ask(self.methods[2], {"id": task})


class Rest:
    """HTTP+JSON of one generation."""

    def __init__(self, url, version, message):
        self.url, self.version, self.message = url, version, message

    def send(self):
        return exchange("POST", f"{self.url}/message:send", self.version, self.message())

    def stream(self):
        return exchange("POST", f"{self.url}/message:stream", self.version, self.message())

    def get(self, task):
        return exchange("GET", f"{self.url}/tasks/{task}", self.version)


def old_proto():
    """Objects of the proto of 0.3; `blocking` is said, because without it protobuf's JSON means false."""
    message = {"messageId": str(uuid.uuid4()), "role": "ROLE_USER", "content": [{"text": SAID}]}
    return {"message": message, "configuration": {"blocking": True}}


def dialects(url):
    new_names = ("SendMessage", "SendStreamingMessage", "GetTask")
    old_names = ("message/send", "message/stream", "tasks/get")
    return {
        "1.0 JSON-RPC": Rpc(url, "1.0", new_names, new_message),
        "1.0 HTTP+JSON": Rest(url, "1.0", lambda: {"message": new_message()}),
        "0.3 JSON-RPC": Rpc(url, None, old_names, old_message),
        "0.3 HTTP+JSON": Rest(f"{url}/v1", None, old_proto),
    }


def exchange(method, url, version, document=None):
    """Gives the objects of an answer: one, or as many as there are events."""
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
    if version:
        headers["A2A-Version"] = version
    body = json.dumps(document).encode() if document is not None else None
    request = urllib.request.Request(url, body, headers, method=method)
    try:
        with OPENER.open(request, timeout=DEADLINE) as answer:
            text = answer.read().decode()
            if not answer.headers["Content-Type"].startswith("text/event-stream"):
                return [result(json.loads(text))]
    except urllib.error.HTTPError as refusal:
        raise AssertionError(f"{refusal.code} {refusal.read().decode()[:300]}") from refusal
    frames = text.replace("\r\n", "\n").split("\n\n")
    data = ["\n".join(line[5:].strip() for line in frame.split("\n") if line.startswith("data:")) for frame in frames]
    return [result(json.loads(one)) for one in data if one]


def result(document):
    if "error" in document:
        raise AssertionError(json.dumps(document["error"])[:300])
    return document.get("result", document)


def bare(event):
    """An event or answer without the member that names its kind in 1.0 and in the proto of 0.3."""
    for name in ("task", "message", "msg", "statusUpdate", "artifactUpdate"):
        if isinstance(event.get(name), dict):
            return event[name]
    return event


def state(event):
    return bare(event).get("status", {}).get("state")


def task_id(event):
    found = bare(event)
    return found.get("taskId") or (found.get("id") if "status" in found else None)


def echoed(found):
    """Somewhere but in the history, where the caller's own message stands."""
    said = [{name: value for name, value in bare(one).items() if name != "history"} for one in found]
    if SAID not in json.dumps(said, ensure_ascii=False):
        raise AssertionError(f"what was said is not in {json.dumps(found)[:300]}")


def sends_and_gets(caller):
    """Some agents answer a send at once and work later: then the task is asked for until it ends."""
    [answer] = caller.send()
    task = task_id(answer) if state(answer) else None
    if task is None:
        echoed([answer])
        return "ok", "-"
    until = time.monotonic() + DEADLINE
    while True:
        [got] = caller.get(task)
        if state(got) in ENDS:
            break
        if time.monotonic() > until:
            raise AssertionError(f"the task is still {state(got)}")
        time.sleep(0.1)
    echoed([got])
    return "ok", "ok"


def streams(caller):
    events = caller.stream()
    echoed(events)
    if state(events[-1]) not in ENDS and len(events) > 1:
        raise AssertionError(f"the last of {len(events)} events is {json.dumps(events[-1])[:300]}")
    return f"ok, {len(events)} events"


def imports(name, card_url, settings):
    admin = {"CHANCERY_ADMIN_URL": os.environ["ADMIN_URL"], "CHANCERY_ADMIN_TOKEN": os.environ["ADMIN_TOKEN"]}
    command = [os.environ["CHANCERY"], "card", "import", card_url, "--name", name, "--tenant", TENANT]
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write(settings)
        file.flush()
        command += ["--file", file.name]
        done = subprocess.run(command, env={**os.environ, **admin}, capture_output=True, text=True, check=False)
    print(done.stdout + done.stderr, file=sys.stderr)
    if done.returncode != 0:
        return f"import failed: {done.stderr.strip()[:300]}"
    until = time.monotonic() + DEADLINE
    while time.monotonic() < until:
        try:
            OPENER.open(f"{GATEWAY}/.well-known/agent-card/{TENANT}/{name}", timeout=5).read()
            return None
        except urllib.error.HTTPError:
            time.sleep(0.1)
    return "the card is not served"


def main(name, card_url, settings="{}"):
    problem = imports(name, card_url, settings)
    if problem:
        print(f"FAIL {name}: {problem}")
        return 1
    failed = 0
    for dialect, caller in dialects(f"{GATEWAY}/a2a/{TENANT}/{name}").items():
        try:
            send, get = sends_and_gets(caller)
            print(f"ok {name} | {dialect} | send {send} | get {get} | stream {streams(caller)}")
        except (AssertionError, ValueError, OSError) as problem:
            failed += 1
            print(f"FAIL {name} | {dialect} | {problem}")
    return 1 if failed else 0


sys.exit(main(*sys.argv[1:]))
