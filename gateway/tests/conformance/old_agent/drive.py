"""Imports the agent of the Python a2a-sdk 0.3.26 (`agent.py`), once as JSON-RPC and once as HTTP+JSON.

Takes GATEWAY_URL, ADMIN_URL, ADMIN_TOKEN and TENANT of `demo.env`, CHANCERY (the binary) and OLD_PORT, where the agent
answers. Leaves the cards `old-rpc` and `old-rest` served, for the drivers that call them with the SDKs.
"""

import asyncio
import os
import pathlib
import sys

import httpx
from a2a.client import A2ACardResolver

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from checks import Checks, equal, true  # noqa: E402

GATEWAY, TENANT = os.environ["GATEWAY_URL"], os.environ["TENANT"]
URL = f"http://127.0.0.1:{os.environ['OLD_PORT']}"


async def answers(url):
    async with httpx.AsyncClient(trust_env=False) as http:
        while True:
            try:
                return (await http.get(f"{url}/.well-known/agent-card.json")).raise_for_status()
            except httpx.HTTPError:  # until it listens; the check's deadline ends it
                await asyncio.sleep(0.05)


async def imports(url, name, dialect):
    admin = {"CHANCERY_ADMIN_URL": os.environ["ADMIN_URL"], "CHANCERY_ADMIN_TOKEN": os.environ["ADMIN_TOKEN"]}
    process = await asyncio.create_subprocess_exec(
        os.environ["CHANCERY"], "card", "import", url, "--name", name, "--tenant", TENANT, env={**os.environ, **admin},
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    output = (await process.communicate())[0].decode()
    equal(process.returncode, 0, f"exit code, {output}")
    true(dialect in output, f"not found to speak {dialect}: {output}")


async def served(name):
    """The card by this SDK, which refuses one without a URL or a known transport."""
    async with httpx.AsyncClient(trust_env=False) as http:
        while True:
            try:
                card = await A2ACardResolver(http, f"{GATEWAY}/a2a/{TENANT}/{name}").get_agent_card()
                break
            except Exception:  # noqa: BLE001: until the public listener knows the card; the check's deadline ends it
                await asyncio.sleep(0.05)
    equal((card.name, card.url), ("Old Echo", f"{GATEWAY}/a2a/{TENANT}/{name}"), "card")
    listed = {(card.preferred_transport, card.url), *((one.transport, one.url) for one in card.additional_interfaces)}
    true({("JSONRPC", card.url), ("HTTP+JSON", card.url)} <= listed, f"interfaces {listed}")
    true(card.supports_authenticated_extended_card, "the card tells of the extended one")
    true(not card.capabilities.push_notifications, "push is offered, which the gateway refuses")


async def main():
    checks = Checks()
    for name, url, dialect in (("old-rpc", URL, "v03_jsonrpc"), ("old-rest", f"{URL}/rest", "v03_http_json")):
        await checks.run(f"{name}: the agent answers", answers, url)
        await checks.run(f"{name}: import finds {dialect}", imports, url, name, dialect)
        await checks.run(f"{name}: the gateway serves its card, for both bindings", served, name)
    return checks.close()


sys.exit(asyncio.run(main()))
