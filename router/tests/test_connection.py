"""Connections against a peer of the standard library's making."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from router.connection import Pool
from router.decoder_client import DecoderClient
from router.errors import CutOff, NoAnswer, Unreachable

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
STREAM = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"


class Peer:
    """Answers each request with the next of `replies`; None closes the connection, `...` never answers."""

    def __init__(self, *replies, then_close=False):
        self.replies = list(replies)
        self.then_close = then_close
        self.n_connections = 0
        self.n_requests = 0
        self.closed = asyncio.Event()

    async def serve(self, reader, writer):
        self.n_connections += 1
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = [line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")]
                await reader.readexactly(int(length[0].split(b":")[1]) if length else 0)
                self.n_requests += 1
                reply = self.replies.pop(0)
                if reply is None:
                    break
                if reply is ...:
                    await reader.read()
                    break
                writer.write(reply)
                await writer.drain()
                if self.then_close:
                    break
        except asyncio.IncompleteReadError:
            pass
        finally:
            writer.close()
            self.closed.set()


@asynccontextmanager
async def peer_and_client(*replies, then_close=False):
    peer = Peer(*replies, then_close=then_close)
    server = await asyncio.start_server(peer.serve, "127.0.0.1", 0)
    client = DecoderClient(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    try:
        yield peer, client
    finally:
        client.close()
        server.close()
        await server.wait_closed()


def test_a_connection_carries_several_requests():
    async def run():
        async with peer_and_client(OK, OK, OK) as (peer, client):
            for _ in range(3):
                assert (await client.health(5)).ok
            assert peer.n_connections == 1

    asyncio.run(run())


def test_one_that_the_peer_closed_meanwhile_is_not_used():
    async def run():
        async with peer_and_client(OK, OK, then_close=True) as (peer, client):
            assert (await client.health(5)).ok
            await peer.closed.wait()
            assert (await client.health(5)).ok
            assert (peer.n_connections, peer.n_requests) == (2, 2)

    asyncio.run(run())


def test_one_is_not_used_right_after_a_stream_before_the_peer_is_known_to_keep_it():
    async def run():
        async with peer_and_client(STREAM, OK) as (peer, client):
            async with client.completion("/x", b"{}", 5) as upstream:
                assert await upstream.rest(5) == b"{}"
            assert (await client.health(5)).ok
            assert peer.n_connections == 2

    asyncio.run(run())


def test_a_request_is_never_sent_twice():
    """The peer takes the request and closes: it may have begun."""

    async def run():
        async with peer_and_client(OK, None, OK) as (peer, client):
            assert (await client.health(5)).ok
            with pytest.raises(CutOff):
                await client.erase(0, 5)
            assert peer.n_requests == 2

    asyncio.run(run())


def test_leaving_a_reply_unread_closes_the_connection():
    async def run():
        begun = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n"
        async with peer_and_client(begun) as (peer, client):
            async with client.completion("/x", b"{}", 5) as upstream:
                assert await upstream.chunk(5) == b"hi"
            async with asyncio.timeout(5):
                await peer.closed.wait()

    asyncio.run(run())


def test_a_peer_that_never_answers_meets_the_deadline_and_is_hung_up_on():
    async def run():
        async with peer_and_client(...) as (peer, client):
            with pytest.raises(NoAnswer, match=r"0\.05 s"):
                await client.health(0.05)
            async with asyncio.timeout(5):
                await peer.closed.wait()

    asyncio.run(run())


def test_nobody_there_is_unreachable():
    async def run():
        server = await asyncio.start_server(Peer().serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        server.close()
        await server.wait_closed()
        with pytest.raises(Unreachable, match="refused"):
            await DecoderClient(f"http://127.0.0.1:{port}").health(5)

    asyncio.run(run())


def test_plain_http_behind_https_is_unreachable():
    async def run():
        async with peer_and_client(OK) as (_, client):
            secure = Pool(client.url.replace("http:", "https:"), None)
            with pytest.raises((Unreachable, CutOff)):
                await secure.take()

    asyncio.run(run())
