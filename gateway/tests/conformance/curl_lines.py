"""The three lines that `chancery demo` prints, pasted into a shell, and what they must not do without the right key.

Takes DEMO_OUTPUT (the file with what the demo printed) and the variables of `demo.env`; gives one line per check.
Needs nothing but the standard library, bash and curl.
"""

import asyncio
import json
import os
import re
import sys

from checks import Checks, equal, true

GATEWAY, TENANT, KEY = (os.environ[name] for name in ("GATEWAY_URL", "TENANT", "API_KEY"))
PARTNER_KEY = os.environ["PARTNER_API_KEY"]
GREETING = "Hello from Brutor A2A sample! You said: Hello from my agent"


async def shell(line):
    process = await asyncio.create_subprocess_exec(
        "bash", "-c", line, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    output, complaint = await process.communicate()
    equal(process.returncode, 0, f"exit code ({complaint.decode()})")
    return output.decode()


async def printed():
    with open(os.environ["DEMO_OUTPUT"], encoding="utf-8") as output:
        lines = [line.rstrip("\n") for line in output if line.startswith("curl ")]
    equal(len(lines), 3, "curl lines")
    return lines


async def discovers(line):
    document = json.loads(await shell(line))
    equal(list(document), ["id", "tenant_id", "name", "version", "trust_tier", "a2a_version", "card"], "members")
    true(re.fullmatch(r"card-[0-9A-HJKMNP-TV-Z]{26}", document["id"]), f"id {document['id']}")
    equal((document["tenant_id"], document["name"]), (TENANT, "hello-world-a2a"), "names")
    equal(document["a2a_version"], "1.0", "a2a_version")
    card = document["card"]
    true(card["signatures"], "the card is unsigned")
    urls = {interface["url"] for interface in card["supportedInterfaces"]}
    equal(urls, {f"{GATEWAY}/a2a/{TENANT}/hello-world-a2a", GATEWAY.removeprefix("http://")}, "interface URLs")


async def sends(line):
    answer = json.loads(await shell(line))
    equal((answer["jsonrpc"], answer["id"]), ("2.0", 1), "envelope")
    task = answer["result"]
    equal(task["status"]["state"], "completed", "state")
    equal(task["history"][0]["parts"], [{"kind": "text", "text": "Hello from my agent"}], "history")
    equal(task["artifacts"][0]["name"], "greeting", "artifact")
    equal(task["artifacts"][0]["parts"], [{"kind": "text", "text": GREETING}], "parts")
    true(task["id"] and task["contextId"], "ids")


async def streams(line):
    frames = [frame for frame in (await shell(line)).split("\n\n") if frame.strip()]
    true(all(re.fullmatch(r"data: [^\n]*", frame) for frame in frames), f"other lines than data: {frames}")
    answers = [json.loads(frame.removeprefix("data: ")) for frame in frames]
    equal([(answer["jsonrpc"], answer["id"]) for answer in answers], [("2.0", 1)] * 3, "envelopes")
    events = [answer["result"] for answer in answers]
    equal([event["kind"] for event in events], ["status-update", "artifact-update", "status-update"], "events")
    equal([events[0]["status"]["state"], events[2]["status"]["state"]], ["working", "completed"], "states")
    equal(events[1]["artifact"]["name"], "greeting", "artifact")
    equal(events[1]["artifact"]["parts"], [{"kind": "text", "text": GREETING}], "parts")
    equal([event.get("final", False) for event in events], [False, False, True], "final")
    equal(len({(event["taskId"], event["contextId"]) for event in events}), 1, "tasks")


def split(answer):
    """Status, headers (name → values), body."""
    head, _, body = answer.replace("\r\n", "\n").partition("\n\n")
    status, *headers = head.split("\n")
    fields = {}
    for name, _, value in (header.partition(":") for header in headers):
        fields.setdefault(name.lower(), []).append(value.strip())
    return int(status.split()[1]), fields, body


async def needs_a_key(line):
    status, headers, body = split(await shell(re.sub(r'-H "Authorization: [^"]*"', "-i", line)))
    equal(status, 401, "status")
    challenges = [challenge.split()[0] for challenge in headers.get("www-authenticate", [])]
    equal(challenges, ["Bearer", "ApiKey"], "WWW-Authenticate")
    true(json.loads(body)["error"]["message"], "the error has no text")


async def looks_missing(line):
    theirs = line.replace(KEY, PARTNER_KEY).replace("curl ", "curl -i ", 1)
    status, headers, body = split(await shell(theirs))
    equal(status, 404, "status")
    # A name of the same length, so that nothing but existence differs.
    nothing = split(await shell(theirs.replace("/hello-world-a2a/", "/hello-world-b3b/")))
    for fields in (headers, nothing[1]):
        for name in ("date", "x-correlation-id"):
            fields.pop(name, None)
    equal((status, headers), nothing[:2], "status and headers")
    without = lambda text: re.sub(r'"[a-z_]*(?:correlation|request)_?[iI]d":"[^"]*"', "", text)  # noqa: E731
    equal(without(body), without(nothing[2]), "body")


async def main():
    checks = Checks()
    lines = await checks.run("the demo prints three curl lines", printed)
    if lines:
        discover, send, stream = lines
        await checks.run("the first discovers the signed card", discovers, discover)
        await checks.run("the second sends a message", sends, send)
        await checks.run("the third streams the answer", streams, stream)
        await checks.run("the second needs a key", needs_a_key, send)
        await checks.run("the third needs a key", needs_a_key, stream)
        await checks.run("with the partner's key the agent looks missing", looks_missing, send)
        await checks.run("with the partner's key the stream looks missing", looks_missing, stream)
    return checks.close()


sys.exit(asyncio.run(main()))
