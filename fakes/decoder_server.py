"""The fake decoder as a process: `python -m fakes.decoder_server` with llama-server's own flags.

Sockets, signals and the order of start and end; everything that is decided is decided in `fakes.decoder`.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import ssl
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from fakes.connection import Connection
from fakes.control import control
from fakes.decoder import controlled, handle
from fakes.disk import Disk
from fakes.door import Door, StartError, unix_socket
from fakes.effects import Flow
from fakes.fault import FaultError, Player
from fakes.flags import FlagError, Options, help_text, parse_flags
from fakes.http1 import Request
from fakes.journal import Journal
from fakes.life import Orphan, die, freeze
from fakes.log import Level, Log
from fakes.machine import Machine
from fakes.names import NameSource
from fakes.point import Point
from fakes.settings import armed_faults
from fakes.spec import SpecError, parse_spec
from fakes.steps import Accepted, Die, Fate, Freeze, Hello, Listening, Load, Ready, Restart, Stopping, Welcome


def _control_socket(path: str) -> socket.socket:
    try:
        bound = unix_socket(path)
        bound.listen(64)
        return bound
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
        self._ended = asyncio.Event()
        self._connections: set[Connection] = set()
        self._controls: set[Connection] = set()
        self._restarting = False
        self._opening: asyncio.Task[None] | None = None
        self._is_wanted_open = True

    async def run(self) -> int:
        """Serve until a signal; the exit status."""
        loop = asyncio.get_running_loop()
        self._door = Door(self.options)
        servers: list[asyncio.Server] = []
        try:
            self.machine = self._machine(self.options)
            self._tls = self._server_tls()
            self.player.changed = self._faults_changed
            self._shut_or_unlock()
            await self._open()
            if self.options.control:
                control_socket = _control_socket(self.options.control)
                servers.append(await loop.create_unix_server(self._control_connection, sock=control_socket))
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.add_signal_handler(number, self._end, number)
            self._start_loading()
            await self._ended.wait()
        finally:
            for server in servers:
                _close_unix(server, str(self.options.control))
            self._door.close()
            for connection in [*self._connections, *self._controls]:
                connection.abort()
        await asyncio.wait_for(_all_closed(self._connections, self._controls), 1.0)
        return 0

    def _faults_changed(self) -> None:
        """Whoever changed a fault may connect at once, so the kernel is told before anybody waits."""
        self._shut_or_unlock()
        self._opening = asyncio.get_running_loop().create_task(self._open())

    def _shut_or_unlock(self) -> None:
        """The port as the faults have it now."""
        self._is_wanted_open = self.player.at(Point.LISTEN, Listening()).open and not self._restarting
        if self._is_wanted_open:
            self._door.unlock()
        else:
            self._door.shut()

    async def _open(self) -> None:
        if self._is_wanted_open:
            await self._door.open(self._connection, self._tls)

    def _server_tls(self) -> ssl.SSLContext | None:
        """TLS with the decoder's own certificate, unless a fault has it show another."""
        if self.options.ssl_cert_file is None:
            return None
        context = _tls(self.options.ssl_cert_file, self.options.ssl_key_file)

        def hello(connection: ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> None:
            step = self.player.at(Point.HANDSHAKE, Hello(name))
            if step.certificate is not None:
                connection.context = _tls(step.certificate, None)

        context.sni_callback = hello
        return context

    def _machine(self, options: Options) -> Machine:
        machine = Machine(
            options,
            parse_spec(options.model),
            journal=self.journal,
            player=self.player,
            log=self.log,
            files=Disk(),
            clock_ns=time.monotonic_ns,
            wall_s=time.time,
            new_name=NameSource(),
        )
        machine.meet = self._meet
        machine.orphan = Orphan
        shape, inodes = machine.shape, machine.store.inodes
        self.journal.write(
            "start",
            argv=self.argv,
            n_slots=shape.n_slots,
            n_ctx_slot=shape.n_ctx_slot,
            model=options.model,
            kv_inode=inodes[0],
            kv_inodes=inodes,
        )
        unified = "true" if shape.unified else "false"
        text = f"initializing, n_slots = {shape.n_slots}, n_ctx_slot = {shape.n_ctx_slot}, kv_unified = '{unified}'"
        self.log.srv(Level.INFO, "load_model", text)
        self.log.flush()
        return machine

    def _connection(self) -> Connection:
        return Connection(
            self._serve,
            self.log.flush,
            fds=self.machine.store.fds,
            on_gone=self._gone,
            everyone=self._connections,
            accepted=self._accepted,
            build=self.machine.build,
            origins=self.options.cors_origins,
        )

    def _serve(self, request: Request) -> Flow:
        return handle(self.machine, request)

    def _control(self, request: Request) -> Flow:
        return control(controlled(self.machine), request)

    def _accepted(self) -> Welcome:
        return self.player.at(Point.ACCEPT, Accepted()).welcome

    def _control_connection(self) -> Connection:
        return Connection(self._control, self.log.flush, fds=[], on_gone=self._gone, everyone=self._controls)

    def _gone(self, request: Request) -> None:
        self.journal.write("disconnect", path=request.path, **self.machine.scope_of(request))

    def _start_loading(self) -> None:
        step = self.player.at(Point.LOAD, Load(self.options.load_seconds))
        load = partial(self._load, step, self.machine)
        held = self.machine.holds.reach(Point.LOAD)
        if held is None:
            load()
        else:
            held.on_set(load)

    def _load(self, step: Load, machine: Machine) -> None:
        loop = asyncio.get_running_loop()
        if step.die is not None:
            loop.call_later(step.seconds or 0, self._dies_loading, step.die)
        elif step.seconds:
            loop.call_later(step.seconds, self._ready, machine)
        elif step.seconds is not None:
            self._ready(machine)

    def _dies_loading(self, how: Die) -> None:
        self.log.srv(Level.ERROR, "load_model", f"failed to load model, '{self.machine.options.model}'")
        self._meet(how)

    def _ready(self, machine: Machine) -> None:
        if machine is not self.machine:
            return  # started again meanwhile
        machine.loading = False
        self.log.srv(Level.INFO, "llama_server", "model loaded")
        self.log.srv(Level.INFO, "llama_server", f"listening on {self._door.url}")
        self.journal.write("ready", url=self._door.url)
        self.log.flush()
        step = self.player.at(Point.READY, Ready())
        if step.dies_after_s is not None:
            asyncio.get_running_loop().call_later(step.dies_after_s, self._meet, step.die)

    def _meet(self, fate: Fate) -> None:
        """What a fault has this process come to."""
        self.log.flush()
        if isinstance(fate, Die):
            die(fate, self.journal, self.player)
        elif isinstance(fate, Freeze):
            freeze(self.journal, self.player)
        elif not self._restarting:
            self._restarting = True
            self._door.shut()
            loop = asyncio.get_running_loop()
            loop.call_soon(self._cut_all)
            loop.call_later(fate.gone_s, self._back, fate)

    def _cut_all(self) -> None:
        for connection in list(self._connections):
            connection.reset()

    def _back(self, restart: Restart) -> None:
        options = self.options if restart.model is None else replace(self.options, model=restart.model)
        self.journal.write("restart", model=options.model)
        holds = self.machine.holds
        self.machine = self._machine(options)
        self.machine.holds = holds
        self._restarting = False
        self._faults_changed()
        self._start_loading()

    def _end(self, number: int) -> None:
        if self.machine.loading:
            # As the real server, which handles signals only after the load.
            self.journal.write("end", faults=self.player.counts(), signal=number)
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        step = self.player.at(Point.STOPPING, Stopping())
        if step.seconds is None:
            self.journal.write("end", faults=self.player.counts(), by="fault", signal=number)
            self.journal.close()
            return
        self.log.srv(Level.INFO, "llama_server", "cleaning up before exit...")
        self.log.flush()
        asyncio.get_running_loop().call_later(step.seconds, self._ended.set)


def _close_unix(server: asyncio.Server, path: str) -> None:
    server.close()
    Path(path).unlink(missing_ok=True)


async def _all_closed(*connections: set[Connection]) -> None:
    while any(connections):
        turn = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_later(0.001, turn.set_result, None)
        await turn


def _tls(certificate: str, key: str | None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
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
        if options.help:
            print(help_text())
            return 0
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
