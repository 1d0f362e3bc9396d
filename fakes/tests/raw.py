"""One request over a bare socket: every byte of the answer, and how the connection ended."""

from __future__ import annotations

import json
import socket
import time
from dataclasses import dataclass, field
from typing import Any

from fakes.tests.running import DEADLINE_S, Running

QUIET_S = 0.4
"""So long without a byte and without an end, a connection counts as open."""
AT_MOST_S = 3.0
"""So long with byte after byte, and it counts as open too."""


@dataclass
class Got:
    """`how` is `close`, `reset`, `open` or `refused`; `pieces` are the bytes as they were received."""

    how: str
    pieces: list[bytes] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def data(self) -> bytes:
        return b"".join(self.pieces)

    @property
    def status(self) -> int | None:
        return int(self.data[9:12]) if self.data else None

    @property
    def head(self) -> str:
        return self.data.partition(b"\r\n\r\n")[0].decode("latin-1")

    @property
    def body(self) -> bytes:
        return self.data.partition(b"\r\n\r\n")[2]

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    def header(self, name: str) -> str | None:
        lines = (line.partition(": ") for line in self.head.split("\r\n")[1:])
        return next((value for key, _, value in lines if key.lower() == name), None)

    @property
    def chunks(self) -> list[bytes]:
        """The chunks of a chunked body that are whole; the last one of a body that ended is empty."""
        found, rest = [], self.body
        while b"\r\n" in rest:
            size, _, after = rest.partition(b"\r\n")
            count = int(size, 16)
            if len(after) < count + 2:
                break
            found.append(after[:count])
            rest = after[count + 2 :]
        return found

    @property
    def events(self) -> list[bytes]:
        """The frames of the stream."""
        frames = b"".join(self.chunks).replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n\n")
        return [frame for frame in frames if frame and not frame.startswith(b":")]

    @property
    def text(self) -> str:
        """What the stream's events say together, those left out that are no JSON."""
        parts = []
        for frame in self.events:
            try:
                value = json.loads(frame.partition(b"data: ")[2])
            except ValueError:
                continue
            parts += [one.get("delta", {}).get("content") or "" for one in value.get("choices") or ()]
        return "".join(parts)

    @property
    def ended(self) -> bool:
        """Whether the body of the stream ended as HTTP has it."""
        return b"" in self.chunks


def request(method: str, path: str, body: Any = None, **headers: str) -> bytes:
    """One request that asks for the connection to be closed."""
    data = b"" if body is None else json.dumps(body).encode()
    lines = [f"{method} {path} HTTP/1.1", "Host: decoder", "Connection: close", f"Content-Length: {len(data)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + data


def send(decoder: Running, data: bytes, quiet_s: float = QUIET_S) -> Got:
    """Send it and read until the end, or until nothing has come for a while."""
    start = time.monotonic()
    try:
        with socket.create_connection(decoder.address, DEADLINE_S) as connection:
            got = Got("close")
            try:
                connection.sendall(data)
                connection.settimeout(quiet_s)
                while piece := connection.recv(1 << 16):
                    got.pieces.append(piece)
                    if time.monotonic() - start > AT_MOST_S:
                        raise TimeoutError
            except TimeoutError:
                got.how = "open"
            except (ConnectionResetError, BrokenPipeError):
                got.how = "reset"
    except ConnectionRefusedError:
        got = Got("refused")
    except ConnectionResetError:  # it came and was reset before this side had looked
        got = Got("reset")
    got.seconds = time.monotonic() - start
    return got
