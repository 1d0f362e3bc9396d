"""The reference: a minimal aiohttp server that answers canned bytes, `POST /json` whole and `POST /stream` in chunks.

Run as `python -m harness.bench.canned BODY_FILE CHUNKS`; prints its port on the first line of stdout.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from aiohttp import web

_CHUNK = (
    b'data: {"choices":[{"finish_reason":null,"index":0,"delta":{"content":" river"}}],'
    b'"object":"chat.completion.chunk"}\n\n'
)


def application(body: bytes, chunks: int) -> web.Application:
    async def whole(request: web.Request) -> web.Response:
        await request.read()
        return web.Response(body=body, content_type="application/json")

    async def streamed(request: web.Request) -> web.StreamResponse:
        await request.read()
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for _ in range(chunks):
            await response.write(_CHUNK)
        await response.write_eof()
        return response

    app = web.Application()
    app.router.add_post("/json", whole)
    app.router.add_post("/stream", streamed)
    return app


async def serve(body: bytes, chunks: int) -> None:
    runner = web.AppRunner(application(body, chunks), access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    import uvloop

    uvloop.run(serve(Path(sys.argv[1]).read_bytes(), int(sys.argv[2])))
