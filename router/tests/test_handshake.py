"""The handshake over a real socket, with real descriptors from a peer made of the standard library."""

import array
import asyncio
import fcntl
import os
import socket
import threading

import pytest

from router.handshake import Handshake
from wire.errors import RemoteWireError
from wire.region import Cells, Region, ShareHeader, Tensor, encode_share_message, layout_hash

TENSORS = (Tensor("cache_k_l0", 0, 0, 32, "f16", 64), Tensor("cache_v_l0", 0, 4096, 32, "f16", 64))
SIZE = 8192


def header(size: int = SIZE) -> ShareHeader:
    return ShareHeader("s1", (Region(size, 0, layout_hash(TENSORS)),), TENSORS, Cells(0, 30))


def memory(size: int = SIZE, *, sealed: bool = True) -> int:
    fd = os.memfd_create("region", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, size)
    if sealed:
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
    return fd


def rights(fds):
    return [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))]


def received(folder, talk):
    """What the router makes of a peer that does `talk`. The exception, or the header and descriptors' inodes."""

    async def run():
        handshake = Handshake(folder)

        def peer():
            with socket.socket(socket.AF_UNIX) as sock:
                sock.connect(os.fspath(handshake.path))
                talk(sock)

        thread = threading.Thread(target=peer)
        thread.start()
        try:
            async with asyncio.timeout(10):
                lent = await handshake.receive()
            inodes = [os.fstat(fd).st_ino for fd in lent.fds]
            lent.close()
            return lent.header, inodes
        finally:
            thread.join()
            handshake.close()

    return asyncio.run(run())


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "h"
    made.mkdir(mode=0o700)
    return made


def open_fds() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_the_decoders_own_memory_arrives(folder):
    fd = memory()
    message = encode_share_message(header())
    got, inodes = received(folder, lambda sock: sock.sendmsg([message], rights([fd])))
    assert (got, inodes) == (header(), [os.fstat(fd).st_ino])
    os.close(fd)
    assert not folder.exists(), "socket and folder are gone"


def test_a_message_in_pieces_with_the_descriptors_on_its_first_byte(folder):
    fd = memory()
    message = encode_share_message(header())

    def talk(sock):
        sock.sendmsg([message[:1]], rights([fd]))
        for at in range(1, len(message), 50):
            sock.sendall(message[at : at + 50])

    got, _ = received(folder, talk)
    assert got == header()
    os.close(fd)


@pytest.mark.parametrize(
    ("name", "fds", "late", "cut"),
    [
        ("descriptors for 1 regions", [], False, False),
        ("descriptors for 1 regions", [memory(), memory()], False, False),
        ("its region ends at", [memory(4096)], False, False),
        ("could be shrunk", [memory(sealed=False)], False, False),
        ("after the first byte", [memory()], True, False),
        ("closed before its message was whole|was cut", [memory()], False, True),
    ],
    ids=["none", "one too many", "too small", "unsealed", "late", "cut"],
)
def test_whatever_is_malformed_is_closed(folder, name, fds, late, cut):
    message = encode_share_message(header())

    def talk(sock):
        first = message[:1]
        sock.sendmsg([first], [] if late or not fds else rights(fds))
        rest = message[1:-5] if cut else message[1:]
        sock.sendmsg([rest], rights(fds) if late else [])

    before = open_fds()
    with pytest.raises(RemoteWireError, match=name):
        received(folder, talk)
    assert open_fds() == before


def test_more_descriptors_than_regions_may_have_is_a_cut_control_message(folder):
    fds = [memory() for _ in range(20)]
    before = open_fds()
    with pytest.raises(RemoteWireError, match="control message"):
        received(folder, lambda sock: sock.sendmsg([encode_share_message(header())], rights(fds)))
    assert open_fds() == before
    for fd in fds:
        os.close(fd)


def test_a_peer_that_leaves_at_once(folder):
    with pytest.raises(RemoteWireError, match=r"cut|closed"):
        received(folder, lambda sock: None)
