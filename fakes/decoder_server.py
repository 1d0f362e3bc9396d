"""The fake decoder as a process: `python -m fakes.decoder_server` with llama-server's own flags.

Sockets, signals and the order of start and end; everything that is decided is decided in `fakes.decoder`.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import socket
import ssl
import sys
import time
from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from fakes.connection import Connection, Serve
from fakes.control import control
from fakes.decoder import controlled, handle
from fakes.disk import Disk
from fakes.fault import FaultError, Player
from fakes.flags import FlagError, Options, parse_flags
from fakes.http1 import Request
from fakes.journal import Journal
from fakes.log import Level, Log
from fakes.machine import Machine
from fakes.point import Point
from fakes.settings import armed_faults
from fakes.spec import SpecError, parse_spec


class StartError(Exception):
    """The fake cannot start; the message has been or will be its last line."""


class NameSource:
    """Names of 32 letters and digits that nobody can guess. Chance is fetched in advance: it is a system call."""

    def __init__(self) -> None:
        self._ready: list[str] = []

    def __call__(self) -> str:
        if not self._ready:
            text = b64encode(secrets.token_bytes(24 * 128), b"AB").decode()
            self._ready = [text[at : at + 32] for at in range(0, len(text), 32)]
        return self._ready.pop()


@dataclass(slots=True)
class Listeners:
    """Sockets that are bound and listen already, and the URL of the first."""

    sockets: list[socket.socket]
    paths: list[str]
    url: str

    def close(self) -> None:
        for one in self.sockets:
            one.close()
        for path in self.paths:
            Path(path).unlink(missing_ok=True)


def bind(options: Options) -> Listeners:
    """Every listener of `--host`. StartError when one cannot be bound."""
    found = Listeners([], [], "")
    scheme = "https" if options.ssl_cert_file else "http"
    for host in options.host.split(","):
        try:
            if host.endswith(".sock"):
                bound, here = _unix_socket(host), f"unix://{host}"
                found.paths.append(host)
            else:
                bound = socket.create_server((host, options.port), family=_family(host), backlog=512)
                here = f"{scheme}://{host}:{bound.getsockname()[1]}"
        except OSError:
            found.close()
            raise StartError(f"couldn't bind HTTP server socket, hostname: {host}, port: {options.port}") from None
        found.sockets.append(bound)
        found.url = found.url or here
    return found


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def _unix_socket(path: str) -> socket.socket:
    bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    bound.bind(path)
    bound.listen(64)
    return bound


def _control_socket(path: str) -> socket.socket:
    try:
        return _unix_socket(path)
    except OSError as error:
        raise StartError(f"cannot listen on the control socket {path}: {error.strerror or error}") from None


class DecoderServer:
    """One fake decoder between its start and its end."""

    def __init__(self, options: Options, argv: Sequence[str], journal: Journal, player: Player, log: Log) -> None:
        self.options = options
        self.argv = list(argv)
        self.journal = journal
        self.player = player
        self.log = log
        self.machine: Machine | None = None
        self.status = 0
        self._ended = asyncio.Event()
        self._connections: set[Connection] = set()

    async def run(self) -> int:
        """Serve until a signal; the exit status."""
        loop = asyncio.get_running_loop()
        listeners = bind(self.options)
        servers: list[asyncio.Server] = []
        try:
            self.machine = self._machine()
            tls = _tls(self.options)
            for one in listeners.sockets:
                make = partial(self._connection, partial(handle, self.machine))
                if one.family is socket.AF_UNIX:
                    servers.append(await loop.create_unix_server(make, sock=one, ssl=tls))
                else:
                    servers.append(await loop.create_server(make, sock=one, ssl=tls))
            if self.options.control:
                make = partial(self._connection, partial(control, controlled(self.machine)))
                control_socket = _control_socket(self.options.control)
                servers.append(await loop.create_unix_server(make, sock=control_socket))
                listeners.sockets.append(control_socket)
                listeners.paths.append(self.options.control)
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.add_signal_handler(number, self._end, number)
            self._start_loading(listeners.url)
            await self._ended.wait()
        finally:
            for server in servers:
                server.close()
            for connection in list(self._connections):
                connection.abort()
            listeners.close()
        await asyncio.wait_for(_all_closed(self._connections), 1.0)
        return self.status

    def _machine(self) -> Machine:
        spec = parse_spec(self.options.model)
        machine = Machine(
            self.options,
            spec,
            journal=self.journal,
            player=self.player,
            log=self.log,
            files=Disk(),
            clock_ns=time.monotonic_ns,
            wall_s=time.time,
            new_name=NameSource(),
        )
        shape, inodes = machine.shape, machine.store.inodes
        self.journal.write(
            "start",
            argv=self.argv,
            n_slots=shape.n_slots,
            n_ctx_slot=shape.n_ctx_slot,
            model=self.options.model,
            kv_inode=inodes[0],
            kv_inodes=inodes,
        )
        unified = "true" if shape.unified else "false"
        text = f"initializing, n_slots = {shape.n_slots}, n_ctx_slot = {shape.n_ctx_slot}, kv_unified = '{unified}'"
        self.log.srv(Level.INFO, "load_model", text)
        self.log.flush()
        return machine

    def _connection(self, serve: Serve) -> Connection:
        assert self.machine is not None
        return Connection(
            serve, self.log.flush, fds=self.machine.store.fds, on_gone=self._gone, everyone=self._connections
        )

    def _gone(self, request: Request) -> None:
        self.journal.write("disconnect", path=request.path)

    def _start_loading(self, url: str) -> None:
        loop = asyncio.get_running_loop()
        machine = self.machine
        assert machine is not None
        ready = partial(self._ready, url)
        held = machine.holds.reach(Point.LOAD)
        if held is not None:
            held.on_set(ready)
        elif self.options.load_seconds:
            loop.call_later(self.options.load_seconds, ready)
        else:
            ready()

    def _ready(self, url: str) -> None:
        assert self.machine is not None
        self.machine.loading = False
        self.log.srv(Level.INFO, "llama_server", "model loaded")
        self.log.srv(Level.INFO, "llama_server", f"listening on {url}")
        self.journal.write("ready", url=url)
        self.log.flush()

    def _end(self, number: int) -> None:
        assert self.machine is not None
        if self.machine.loading:
            # As the real server, which handles signals only after the load.
            self.journal.write("end", faults=self.player.counts(), signal=number)
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        self.log.srv(Level.INFO, "llama_server", "cleaning up before exit...")
        self.log.flush()
        self._ended.set()


async def _all_closed(connections: set[Connection]) -> None:
    while connections:
        turn = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_later(0.001, turn.set_result, None)
        await turn


def _tls(options: Options) -> ssl.SSLContext | None:
    if options.ssl_cert_file is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(options.ssl_cert_file, options.ssl_key_file)
    return context


def _log_writer(options: Options) -> Callable[[bytes], object]:
    if options.log_disable:
        return lambda data: None
    if options.log_file is None:
        return partial(_write_all, 2)
    return partial(_write_all, os.open(options.log_file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644))


def _write_all(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]


def main(argv: Sequence[str] | None = None) -> int:
    """The exit status. What was wrong with the command line is on stderr."""
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        options = parse_flags(words, os.environ)
        if options.version:
            print(f"version: {options.fake_version} (fake)", file=sys.stderr)
            return 0
        armed = armed_faults("decoder", options.faults, os.environ)
        journal = Journal(options.journal, "decoder", time.monotonic_ns, keep=options.control is not None)
    except (FlagError, FaultError) as error:
        print(error, file=sys.stderr)
        return 1
    except OSError as error:
        print(f"cannot write the journal: {error}", file=sys.stderr)
        return 1
    log = Log(_log_writer(options), time.monotonic_ns, options.verbosity)
    log.srv(Level.INFO, "llama_server", "initializing")
    player = Player(journal, armed)
    status = _serve(options, words, journal, player, log)
    journal.write("end", faults=player.counts(), status=status)
    journal.close()
    log.flush()
    return status


def _serve(options: Options, argv: Sequence[str], journal: Journal, player: Player, log: Log) -> int:
    async def serve() -> int:
        return await DecoderServer(options, argv, journal, player, log).run()

    try:
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            return runner.run(serve())
    except StartError as error:
        log.srv(Level.ERROR, "start", str(error))
        return 1
    except (SpecError, ValueError, ssl.SSLError) as error:
        log.srv(Level.ERROR, "load_model", f"failed to load model, '{options.model}': {error}")
    log.srv(Level.ERROR, "llama_server", "exiting due to model loading error")
    return 1


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


if __name__ == "__main__":
    sys.exit(main())
