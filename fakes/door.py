"""The addresses a fake decoder listens on: bound once, closed and opened again without giving them up."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from fakes.flags import Options

_BACKLOG = 512


class StartError(Exception):
    """The fake cannot start; the message has been or will be its last line."""


def unix_socket(path: str) -> socket.socket:
    """Bound, and nothing more."""
    bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    bound.bind(path)
    return bound


class Door:
    """Every listener of `--host`. `url` is the first one's; StartError when one cannot be bound."""

    def __init__(self, options: Options) -> None:
        self._sockets: list[socket.socket] = []
        self._paths: list[str] = []
        self._servers: list[asyncio.Server] = []
        self.url = ""
        scheme = "https" if options.ssl_cert_file else "http"
        for host in options.host.split(","):
            try:
                if host.endswith(".sock"):
                    self._sockets.append(unix_socket(host))
                    self._paths.append(host)
                    here = f"unix://{host}"
                else:
                    self._sockets.append(_tcp_socket(host, options.port))
                    here = f"{scheme}://{host}:{self._sockets[-1].getsockname()[1]}"
            except OSError:
                self.close()
                raise StartError(f"couldn't bind HTTP server socket, hostname: {host}, port: {options.port}") from None
            self._sockets[-1].listen(_BACKLOG)
            self.url = self.url or here

    @property
    def is_open(self) -> bool:
        return bool(self._servers)

    def unlock(self) -> None:
        """Refuse no connection from now on; `open` takes those that have come meanwhile."""
        if not self._servers:
            for one in self._sockets:
                one.listen(_BACKLOG)

    async def open(self, make: Callable[[], Any], tls: ssl.SSLContext | None) -> None:
        """Take connections from now on."""
        if self._servers:
            return
        loop = asyncio.get_running_loop()
        for one in self._sockets:
            if one.family is socket.AF_UNIX:
                self._servers.append(await loop.create_unix_server(make, sock=one, ssl=tls))
            else:
                self._servers.append(await loop.create_server(make, sock=one, ssl=tls))

    def shut(self) -> None:
        """Refuse connections from now on. The addresses stay bound, so that nobody else can have them."""
        addresses = [(one.family, one.getsockname()) for one in self._sockets]
        self._stop()
        self._sockets = [_bound_again(family, address) for family, address in addresses]

    def close(self) -> None:
        """For good."""
        self._stop()
        for path in self._paths:
            Path(path).unlink(missing_ok=True)

    def _stop(self) -> None:
        for one in self._sockets:
            # Closing reaches the kernel a turn of the loop later; this ends the listening at once.
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        for server in self._servers:
            server.close()
        for one in self._sockets:
            with suppress(OSError):
                one.close()
        self._servers = []


def _tcp_socket(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family is socket.AF_INET6:
            bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        bound.bind((host, port))
    except BaseException:
        bound.close()
        raise
    return bound


def _bound_again(family: int, address: Any) -> socket.socket:
    if family == socket.AF_UNIX:
        Path(address).unlink(missing_ok=True)
        return unix_socket(address)
    return _tcp_socket(address[0], address[1])
