"""Stands between the compatibility kit, which sends no credentials, and the gateway.

Takes `PORT GRPC_PORT CARD` and GATEWAY_URL, TENANT, API_KEY of `demo.env`. Answers the well-known addresses of a card
with the gateway's card of that name, its URLs pointing here; passes every other request on unchanged but for the
credential and the host. Paths that are not the gateway's are taken below the card's, because kit 0.3 calls some at the
root. The gRPC client of kit 1.0 does not copy the interface's `tenant` into its messages, as clients should: that is
added, too. Bodies, statuses and headers of answers stay as they are, and streams flow event by event.
"""

import asyncio
import http.client
import http.server
import json
import os
import sys
import threading
import urllib.parse

import grpc
import grpc.aio

GATEWAY, TENANT, KEY = (os.environ[name] for name in ("GATEWAY_URL", "TENANT", "API_KEY"))
PORT, GRPC_PORT, CARD = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
ORIGIN = urllib.parse.urlsplit(GATEWAY).netloc
HOP_BY_HOP = {"connection", "host", "keep-alive", "transfer-encoding"}
WELL_KNOWN = ("/.well-known/agent-card.json", "/.well-known/agent.json")


class Forwarder(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def forward(self):
        length = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(length) if length else None
        is_card = self.path in WELL_KNOWN
        path = self.path if self.path.startswith("/a2a/") else f"/a2a/{TENANT}/{CARD}{self.path}".rstrip("/")
        headers = {name: value for name, value in self.headers.items() if name.lower() not in HOP_BY_HOP}
        headers["Authorization"] = f"Bearer {KEY}"
        upstream = http.client.HTTPConnection(ORIGIN, timeout=60)
        try:
            upstream.request(self.command, path, body, headers)
            answer = upstream.getresponse()
            self.answer(answer, is_card)
        finally:
            upstream.close()

    def answer(self, answer, is_card):
        self.send_response_only(answer.status, answer.reason)
        for name, value in answer.getheaders():
            if name.lower() not in HOP_BY_HOP | {"content-length"}:
                self.send_header(name, value)
        if is_card or answer.length is not None:
            body = answer.read()
            body = rewritten(body) if is_card and answer.status == 200 else body
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            return
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        while chunk := answer.read1(65536):
            self.wfile.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = forward

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        """The kit leaves streams early."""


def rewritten(body):
    """The card, with this forwarder's address in its interfaces of both generations."""
    card = json.loads(body)
    for one in [card, *card.get("supportedInterfaces", []), *card.get("additionalInterfaces", [])]:
        over_grpc = "GRPC" in (one.get("protocolBinding"), one.get("transport"))
        if "url" in one:
            one["url"] = f"127.0.0.1:{GRPC_PORT}" if over_grpc else one["url"].replace(GATEWAY, f"http://127.0.0.1:{PORT}")
    return json.dumps(card).encode()


class GrpcForwarder(grpc.GenericRpcHandler):
    """Every method as a stream of opaque messages: on the wire a unary call is one of length one."""

    def __init__(self, channel):
        self.channel = channel

    def service(self, details):
        async def relay(messages, call):
            await self.relay(details, messages, call)

        return grpc.stream_stream_rpc_method_handler(relay)

    async def relay(self, details, messages, call):
        sent = [(key, value) for key, value in details.invocation_metadata if key.startswith("a2a-")]
        sent.append(("authorization", f"Bearer {KEY}"))
        method = self.channel.stream_stream(details.method)
        upstream = method(addressed(messages), metadata=sent, timeout=call.time_remaining())
        try:
            async for message in upstream:
                await call.write(message)
        except grpc.aio.AioRpcError as fault:
            await call.abort(fault.code(), fault.details(), tuple(fault.trailing_metadata() or ()))


async def addressed(messages):
    """Field 1 of every request of the service is `tenant`; the last one counts."""
    name = CARD.encode()
    async for message in messages:
        yield message + bytes((0x0A, len(name))) + name


async def main():
    served = Server(("127.0.0.1", PORT), Forwarder)
    threading.Thread(target=served.serve_forever, daemon=True).start()
    async with grpc.aio.insecure_channel(ORIGIN, options=[("grpc.enable_http_proxy", 0)]) as channel:
        server = grpc.aio.server()
        server.add_generic_rpc_handlers((GrpcForwarder(channel),))
        server.add_insecure_port(f"127.0.0.1:{GRPC_PORT}")
        await server.start()
        print("forwards", flush=True)
        await server.wait_for_termination()


asyncio.run(main())
