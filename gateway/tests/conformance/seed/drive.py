"""Agents in Starlette, as people write them, behind a running gateway.

Takes GATEWAY_URL, ADMIN_URL, ADMIN_TOKEN, TENANT and API_KEY of `demo.env`, CHANCERY (the binary), and SEED_PORT and
SAMPLE_PORT, where the gateway may connect. Starts the guide's agent (`server.py`, as printed there) and the repository's
sample with uvicorn, each behind a recorder; imports them with the command line, once per spelling of the colon; calls
them in four dialects with nothing but urllib; and compares the request lines that reached the agents.
"""

import asyncio
import json
import os
import pathlib
import re
import socket
import sys
import tempfile
import urllib.error
import urllib.request
import uuid

from recorder import Recorder

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from checks import Checks, equal, true  # noqa: E402

GATEWAY, TENANT, KEY = (os.environ[name] for name in ("GATEWAY_URL", "TENANT", "API_KEY"))
CHANCERY = os.environ["CHANCERY"]
SAMPLE = HERE.parents[3] / "samples" / "hello-world-a2a"
SPELLINGS = {"percent": "%3A", "literal": ":"}
SAID = "Grüße 🌍"
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


# The four dialects, written out by hand: each gives address below the card's, version header and body of a call.


def path_rpc(verb, text):
    """As the guide shows it: a JSON-RPC envelope on a REST path, no messageId."""
    message = {"role": "user", "parts": [{"kind": "text", "text": text}]}
    return f"/message:{verb}", None, envelope(f"message/{verb}", message)


def j3(verb, text):
    parts = [{"kind": "text", "text": text}]
    message = {"kind": "message", "messageId": str(uuid.uuid4()), "role": "user", "parts": parts}
    return "", None, envelope(f"message/{verb}", message)


def j1(verb, text):
    method = {"send": "SendMessage", "stream": "SendStreamingMessage"}[verb]
    return "", "1.0", envelope(method, new_message(text))


def r1(verb, text):
    return f"/message:{verb}", "1.0", {"message": new_message(text)}


DIALECTS = {"path_rpc": path_rpc, "J3": j3, "J1": j1, "R1": r1}
NEW = ("J1", "R1")


def new_message(text):
    return {"messageId": str(uuid.uuid4()), "role": "ROLE_USER", "parts": [{"text": text}]}


def envelope(method, message):
    return {"jsonrpc": "2.0", "id": 7, "method": method, "params": {"message": message}}


def result(dialect, document):
    if dialect == "R1":
        return document
    equal((document.get("jsonrpc"), document.get("id")), ("2.0", 7), f"envelope of {document}")
    return document["result"]


def completed(dialect):
    return "TASK_STATE_COMPLETED" if dialect in NEW else "completed"


async def call(card, dialect, verb):
    """Gives content type and text of the answer."""
    below, version, document = DIALECTS[dialect](verb, SAID)
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
    if version:
        headers["A2A-Version"] = version
    body = json.dumps(document).encode()
    request = urllib.request.Request(f"{GATEWAY}/a2a/{TENANT}/{card}{below}", body, headers, method="POST")
    return await asyncio.to_thread(exchange, request)


def exchange(request):
    try:
        with OPENER.open(request, timeout=20) as answer:
            return answer.headers["Content-Type"], answer.read().decode()
    except urllib.error.HTTPError as refusal:
        raise AssertionError(f"{refusal.code} {refusal.read().decode()[:400]}") from refusal


# Checks.


async def sends(card, dialect, greeting):
    kind, body = await call(card, dialect, "send")
    task = result(dialect, json.loads(body))
    task = task["task"] if dialect in NEW else task
    equal(task["status"]["state"], completed(dialect), "state")
    equal(task["artifacts"][0]["name"], "greeting", "artifact")
    equal(task["artifacts"][0]["parts"][0]["text"], f"{greeting}{SAID}", "text")
    equal(kind.split(";")[0], "application/a2a+json" if dialect == "R1" else "application/json", "content type")


async def streams(card, dialect, greeting):
    kind, body = await call(card, dialect, "stream")
    equal(kind.split(";")[0], "text/event-stream", f"content type of {body[:300]}")
    data = [re.findall(r"(?m)^data: ?(.*)$", frame) for frame in body.replace("\r\n", "\n").split("\n\n")]
    events = [result(dialect, json.loads("\n".join(lines))) for lines in data if lines]
    if dialect in NEW:
        equal(list(events[0]), ["task"], "a stream of 1.0 begins with the task")
        updates = events[1:]
        equal([list(event) for event in updates], [["statusUpdate"], ["artifactUpdate"], ["statusUpdate"]], "events")
        updates = [next(iter(event.values())) for event in updates]
    else:
        updates = [event for event in events if event["kind"] != "task"]
        equal([event["kind"] for event in updates], ["status-update", "artifact-update", "status-update"], "events")
        equal([update.get("final", False) for update in updates[::2]], [False, True], "final")
    equal(updates[1]["artifact"]["parts"][0]["text"], f"{greeting}{SAID}", "text")
    equal(updates[2]["status"]["state"], completed(dialect), "last state")


async def spells(recorder, card, colon, dialect, verb):
    recorder.clear()
    await call(card, dialect, verb)
    equal(recorder.lines, [f"POST /message{SPELLINGS[colon]}{verb} HTTP/1.1"], "request lines at the agent")


async def starts(folder, public_url):
    """An agent under uvicorn on a free port; gives process and port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "uvicorn", "server:app", "--host", "127.0.0.1", "--port", str(port),
        "--log-level", "warning", cwd=folder, env={**os.environ, "PUBLIC_URL": public_url},
    )  # fmt: skip
    while True:
        try:
            await asyncio.to_thread(lambda: OPENER.open(f"http://127.0.0.1:{port}/health", timeout=2).read())
            return process, port
        except OSError:
            true(process.returncode is None, f"uvicorn ended with {process.returncode}")
            await asyncio.sleep(0.05)


async def imports(recorder, name, more, colon):
    """Registers the agent; with `colon` set by hand, else as the gateway's own probe finds it."""
    recorder.clear()
    arguments = ["card", "import", f"http://127.0.0.1:{recorder.port}", "--name", name, "--tenant", TENANT, *more]
    with tempfile.NamedTemporaryFile("w", suffix=".json") as settings:
        json.dump({"upstream": {"colon": colon}} if colon else {}, settings)
        settings.flush()
        output = await chancery(*arguments, "--file", settings.name)
    true("path_rpc" in output, f"not found to speak path_rpc: {output}")
    sent = [line for line in recorder.lines if re.match(r"POST /message(:|%3A)", line, re.IGNORECASE)]
    equal(sent, [], "messages that the probe sent")
    await served(name)


async def chancery(*arguments):
    admin = {"CHANCERY_ADMIN_URL": os.environ["ADMIN_URL"], "CHANCERY_ADMIN_TOKEN": os.environ["ADMIN_TOKEN"]}
    process = await asyncio.create_subprocess_exec(
        CHANCERY, *arguments, env={**os.environ, **admin},
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    output = (await process.communicate())[0].decode()
    equal(process.returncode, 0, f"exit code of `chancery {' '.join(arguments)}`: {output}")
    return output


async def served(name):
    """Until the public listener knows the card; the check's deadline ends the wait."""
    url = f"{GATEWAY}/.well-known/agent-card/{TENANT}/{name}"
    while True:
        try:
            return await asyncio.to_thread(lambda: OPENER.open(url, timeout=5).read())
        except urllib.error.HTTPError:
            await asyncio.sleep(0.05)


async def agent_checks(checks, agent, recorder, more, greeting):
    for colon in (None, *SPELLINGS):
        card, how = (f"{agent}-{colon}", f"colon {colon}") if colon else (agent, "colon probed")
        run = lambda name, check, *rest, how=how: checks.run(f"{agent}, {how}: {name}", check, *rest)  # noqa: E731
        await run("import finds path_rpc and sends nothing", imports, recorder, card, more, colon)
        for dialect in DIALECTS:
            await run(f"send in {dialect}", sends, card, dialect, greeting)
            await run(f"stream in {dialect}", streams, card, dialect, greeting)
            for verb in ("send", "stream"):
                wire = f"{dialect} {verb} is message{SPELLINGS[colon or 'percent']}{verb} at the agent"
                await run(wire, spells, recorder, card, colon or "percent", dialect, verb)


async def main():
    checks = Checks()
    agents = [
        ("seed-agent", HERE, int(os.environ["SEED_PORT"]), ["--use-address"], "Hello! You said: "),
        ("sample-agent", SAMPLE, int(os.environ["SAMPLE_PORT"]), [], "Hello from Brutor A2A sample! You said: "),
    ]
    for name, folder, port, more, greeting in agents:
        started = await checks.run(f"{name}: starts", starts, folder, f"http://127.0.0.1:{port}")
        if started is None:
            continue
        process, agent_port = started
        try:
            async with Recorder(port, agent_port) as recorder:
                await agent_checks(checks, name, recorder, more, greeting)
        finally:
            process.terminate()
            await process.wait()
    return checks.close()


sys.exit(asyncio.run(main()))
