"""A TCP proxy that notes the request line of everything it passes on, byte for byte.

Takes a port to listen on and the agent's port; gives the lines since the last `clear`. Understands only enough of HTTP
to find where requests begin: a connection's first line, and the first line after each request's body.
"""

import asyncio


class Recorder:
    def __init__(self, port, agent_port):
        self.port, self.agent_port, self.lines = port, agent_port, []
        self._server = None

    async def __aenter__(self):
        self._server = await asyncio.start_server(self._pass_on, "127.0.0.1", self.port)
        return self

    async def __aexit__(self, *_):
        self._server.close()

    def clear(self):
        self.lines.clear()

    async def _pass_on(self, reader, writer):
        try:
            back, forth = await asyncio.open_connection("127.0.0.1", self.agent_port)
        except OSError:
            writer.close()
            return
        answers = asyncio.create_task(copy(back, writer))
        try:
            while head := await read_head(reader):
                self.lines.append(head.split(b"\r\n", 1)[0].decode("ascii"))
                forth.write(head)
                await forward_body(head, reader, forth)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            if forth.can_write_eof():
                forth.write_eof()
            await answers
            forth.close()
            writer.close()


async def read_head(reader):
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as end:
        if end.partial:
            raise
        return b""


async def forward_body(head, reader, writer):
    fields = dict(
        (name.strip().lower(), value.strip())
        for name, _, value in (line.partition(b":") for line in head.split(b"\r\n")[1:] if line)
    )
    if b"chunked" in fields.get(b"transfer-encoding", b"").lower():
        while True:
            size = await reader.readuntil(b"\r\n")
            length = int(size.split(b";")[0], 16)
            writer.write(size + await reader.readexactly(length + 2))
            if length == 0:
                break
    elif length := int(fields.get(b"content-length", b"0")):
        writer.write(await reader.readexactly(length))
    await writer.drain()


async def copy(reader, writer):
    try:
        while block := await reader.read(65536):
            writer.write(block)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()
    except (ConnectionError, OSError):
        pass
