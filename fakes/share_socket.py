"""Carrying out a share: connecting to the router's socket and sending header and descriptors over it."""

from __future__ import annotations

import asyncio
import socket

from fakes.effects import Sent
from fakes.steps import Sends, ShareMessage
from wire.region import encode_share_message

DEADLINE_S = 5.0


async def send_share(path: str, message: ShareMessage, fds: list[int]) -> Sent:
    """What became of it; nothing is raised for a router that is not there."""
    if message.sends is Sends.NO_CONNECTION:
        return Sent(connected=False, n_descriptors=0)
    client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connected = False
    try:
        client.setblocking(False)
        async with asyncio.timeout(DEADLINE_S):
            await asyncio.get_running_loop().sock_connect(client, path)
            connected = True
            return await _send(client, message, fds)
    except (OSError, ValueError) as error:
        return Sent(connected, 0, f"cannot connect to {path}: {error}" if not connected else f"sending failed: {error}")
    finally:
        client.close()


async def _send(client: socket.socket, message: ShareMessage, fds: list[int]) -> Sent:
    if message.sends is Sends.NOTHING:
        return Sent(connected=True, n_descriptors=0)
    data = _message(message)
    given = _descriptors(message, fds)
    sent = socket.send_fds(client, [data[:1]], given) if given else 0
    await asyncio.get_running_loop().sock_sendall(client, data[sent:])
    return Sent(connected=True, n_descriptors=len(given))


def _descriptors(message: ShareMessage, fds: list[int]) -> list[int]:
    if message.sends is not Sends.ALL:
        return []
    more = message.more_descriptors
    return [*fds, *[fds[-1]] * more] if more >= 0 else fds[:more]


def _message(message: ShareMessage) -> bytes:
    data = encode_share_message(message.header)
    if message.data is not None:
        data = len(message.data).to_bytes(4, "little") + message.data
    if message.length is not None:
        data = message.length.to_bytes(4, "little") + data[4:]
    return data if message.cut_at is None else data[: message.cut_at]
