"""The router's end of the shared route's handshake: a Unix socket, one peer, one message with descriptors.

What is received is closed again on every way out that does not hand it over. Nothing is mapped here.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import socket
import struct
from dataclasses import dataclass
from pathlib import Path

from wire.errors import RemoteWireError
from wire.region import MAX_REGIONS, ShareHeader, ShareMessageDecoder

_CHUNK = 1 << 16
_CREDENTIALS = struct.Struct("3i")


@dataclass(frozen=True, slots=True)
class Lent:
    """What the decoder lent: its header and one descriptor for each region."""

    header: ShareHeader
    fds: tuple[int, ...]

    def close(self) -> None:
        for fd in self.fds:
            os.close(fd)


class Handshake:
    """A listening socket in a fresh private folder, for one peer. A context: leaving it removes everything."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.path = folder / "s"
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
        try:
            self._listener.bind(os.fspath(self.path))
            self._listener.listen(1)
        except OSError:
            self.close()
            raise

    def close(self) -> None:
        self._listener.close()
        self.path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            self._folder.rmdir()

    async def receive(self) -> Lent:
        """The message and its descriptors, checked. RemoteWireError: malformed; whatever came is closed."""
        peer, _ = await asyncio.get_running_loop().sock_accept(self._listener)
        with peer:
            self._listener.close()
            _check_user(peer)
            peer.setblocking(False)
            fds: list[int] = []
            try:
                header = await _read(peer, fds)
                check_descriptors(header, fds)
            except BaseException:
                for fd in fds:
                    os.close(fd)
                raise
            return Lent(header, tuple(fds))


def _check_user(peer: socket.socket) -> None:
    raw = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    _, uid, _ = _CREDENTIALS.unpack(raw)
    if uid != os.geteuid():
        raise RemoteWireError(f"a process of user {uid} connected, the router runs as {os.geteuid()}")


async def _read(peer: socket.socket, fds: list[int]) -> ShareHeader:
    """Reads the one message; descriptors are put into `fds` as they come, so that the caller can close them."""
    decoder = ShareMessageDecoder()
    first = True
    while True:
        await _readable(peer)
        # The first byte is read alone: the descriptors belong to it, and a longer read would take later ones too.
        data, flags, came = _receive_once(peer, 1 if first else _CHUNK)
        fds += came
        if flags & (socket.MSG_CTRUNC | socket.MSG_TRUNC):
            raise RemoteWireError("the control message with the descriptors was cut")
        if came and not first:
            raise RemoteWireError(f"{len(came)} descriptors came after the first byte")
        if not data:
            decoder.close()
            raise RemoteWireError("the peer closed before its message was whole")
        first = False
        header = decoder.receive(data)
        if header is not None:
            return header


def _receive_once(peer: socket.socket, size: int) -> tuple[bytes, int, list[int]]:
    room = socket.CMSG_SPACE(MAX_REGIONS * struct.calcsize("i"))
    data, ancillary, flags, _ = peer.recvmsg(size, room, socket.MSG_CMSG_CLOEXEC)
    fds: list[int] = []
    for level, kind, raw in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            whole = len(raw) - len(raw) % struct.calcsize("i")
            fds += struct.unpack(f"{whole // struct.calcsize('i')}i", raw[:whole])
    return data, flags, fds


async def _readable(peer: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()

    def on_ready() -> None:
        if not ready.done():
            ready.set_result(None)

    loop.add_reader(peer.fileno(), on_ready)
    try:
        await ready
    finally:
        loop.remove_reader(peer.fileno())


def check_descriptors(header: ShareHeader, fds: list[int]) -> None:
    """RemoteWireError unless there is one descriptor for each region, each as large as it is said to be."""
    if len(fds) != len(header.regions):
        raise RemoteWireError(f"{len(fds)} descriptors for {len(header.regions)} regions")
    for index, (fd, region) in enumerate(zip(fds, header.regions, strict=True)):
        try:
            size = os.lseek(fd, 0, os.SEEK_END)
        except OSError as error:
            raise RemoteWireError(f"descriptor {index} has no size: {error.strerror}") from None
        if size < region.offset + region.size:
            raise RemoteWireError(
                f"descriptor {index} has {size} bytes, its region ends at {region.offset + region.size}"
            )
        if not _sealed(fd):
            raise RemoteWireError(f"descriptor {index} is memory that could be shrunk while it is written")


def _sealed(fd: int) -> bool:
    """Whether it cannot be shrunk: a memfd must be sealed; what knows no seals, such as a dma-buf, has a fixed size."""
    try:
        seals = fcntl.fcntl(fd, fcntl.F_GET_SEALS)
    except OSError:
        return True
    return bool(seals & fcntl.F_SEAL_SHRINK)
