"""The connections that a run's requests go over."""

from __future__ import annotations

import aiohttp

# llama-server closes a connection that was idle for 5 s: one taken up again at that very moment would fail.
_IDLE_S = 2.0


def open_http() -> aiohttp.ClientSession:
    """A session with as many connections as are asked for, none of which is taken up again after a pause."""
    return aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_IDLE_S))
