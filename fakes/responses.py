"""llama-server's response heads, byte for byte in its order."""

from __future__ import annotations

from fakes.effects import Reply, StartStream
from fakes.http1 import Request, status_line

KEEP_ALIVE_S = 5
REQUESTS_PER_CONNECTION = 100
ANY_ORIGIN = "*"
_KEEP = f"Keep-Alive: timeout={KEEP_ALIVE_S}, max={REQUESTS_PER_CONNECTION}\r\n\r\n"
_CLOSE = "Connection: close\r\n\r\n"
GARBAGE = b"HTTP/1.1 400 Bad Request\r\nServer: llama.cpp\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


def _common(request: Request, origins: str) -> str:
    """Every origin is echoed where all are allowed; else those that are allowed stand there, whoever asks."""
    origin = request.headers.get("origin", "") if origins == ANY_ORIGIN else origins
    return f"Server: llama.cpp\r\nAccess-Control-Allow-Origin: {origin}\r\n"


def plain_response(request: Request, reply: Reply, *, close: bool, origins: str = ANY_ORIGIN) -> bytes:
    """A whole response. HEAD gets the same head and no body."""
    more = "".join(f"{name}: {value}\r\n" for name, value in reply.headers)
    if request.method == "HEAD":
        more += "Accept-Ranges: bytes\r\n"
    head = (
        f"{status_line(reply.status)}{_common(request, origins)}{more}Content-Type: {reply.content_type}\r\n"
        f"Content-Length: {len(reply.body) if reply.length is None else reply.length}\r\n{_CLOSE if close else _KEEP}"
    )
    body = b"" if request.method == "HEAD" else reply.body
    return head.encode("latin-1", "replace") + body


def stream_head(request: Request, start: StartStream, *, close: bool, origins: str = ANY_ORIGIN) -> bytes:
    """The head of an event stream."""
    more = "".join(f"{name}: {value}\r\n" for name, value in start.headers)
    head = (
        f"{status_line(200)}{_common(request, origins)}X-Accel-Buffering: no\r\n{more}"
        f"Content-Type: {start.content_type}\r\n"
        f"Transfer-Encoding: chunked\r\n{_CLOSE if close else _KEEP}"
    )
    return head.encode("latin-1", "replace")
