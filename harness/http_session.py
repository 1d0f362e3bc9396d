"""The connections that a run's requests go over."""

from __future__ import annotations

from dataclasses import dataclass

import aiohttp

# llama-server closes a connection that was idle for 5 s: one taken up again at that very moment would fail.
_IDLE_S = 2.0
_SMALL_GET_S = 10.0


@dataclass(frozen=True, slots=True)
class Page:
    """What a small GET brought. `failure` says why it brought nothing."""

    text: str = ""
    failure: str = ""


def open_http() -> aiohttp.ClientSession:
    """A session with as many connections as are asked for, none of which is taken up again after a pause."""
    return aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_IDLE_S))


async def got(http: aiohttp.ClientSession, url: str) -> Page:
    """A page that a server shows of itself; it need not have it."""
    try:
        async with http.get(url, timeout=aiohttp.ClientTimeout(total=_SMALL_GET_S)) as response:
            if response.status != 200:
                return Page(failure=f"{url} answered {response.status}")
            return Page(await response.text())
    except TimeoutError:
        return Page(failure=f"no whole answer of {url} within {_SMALL_GET_S:g} s")
    except aiohttp.ClientError as error:
        return Page(failure=f"{url}: {type(error).__name__}: {error}")
