"""The fake engine as a process: `python -m fakes.engine_server`, an RPC port and an HTTP port.

Sockets, signals and the order of start and end; what is decided is decided in `fakes.engine`. It says where it
listens on stderr, the RPC port first, and is ready with the line about HTTP.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from fakes.connection import Connection, Serve
from fakes.control import Controlled, control
from fakes.effects import CutConnection, Flow
from fakes.engine.driver import Background
from fakes.engine.engine import Engine, ProcessEnds
from fakes.engine.flags import EngineFlagError, EngineOptions, parse_engine_flags
from fakes.engine.http_routes import handle
from fakes.engine.rpc_server import RpcServer
from fakes.engine.steps import Death
from fakes.fault import FaultError, Player
from fakes.hold import Holds
from fakes.http1 import Request
from fakes.journal import Journal
from fakes.settings import CONTROL, JOURNAL, armed_faults

ABORTED = 134
"""The exit status of a process that aborts."""
USAGE = 2


class EngineServer:
    """One fake engine between its start and its end."""

    def __init__(self, options: EngineOptions, argv: Sequence[str], journal: Journal, player: Player) -> None:
        self._options = options
        self._journal = journal
        self._player = player
        self._argv = list(argv)
        self._connections: set[Connection] = set()

    async def run(self) -> None:
        """Serves until a signal, or until a fault ends the process."""
        loop = asyncio.get_running_loop()
        holds = Holds(self._journal)
        background = Background(self._background_failed)
        engine = Engine(
            self._options.config, self._journal, self._player, holds, time.monotonic, background.spawn, _say
        )
        self._rpc = rpc = RpcServer(engine)
        stopped = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stopped.set)
        servers = [await rpc.listen(self._options.host, self._options.rpc_port)]
        servers.append(
            await loop.create_server(self._made(partial(self._serve, engine)), self._options.host, self._options.port)
        )
        if self._options.control is not None:
            made = self._made(partial(control, _controlled(engine)))
            servers.append(await loop.create_unix_server(made, self._options.control))
        self._announce(servers)
        while not stopped.is_set():
            await self._until(stopped, rpc, engine)
        for server in servers:
            server.close()
        self._cut_all()
        await background.cancel_all()

    async def _until(self, stopped: asyncio.Event, rpc: RpcServer, engine: Engine) -> None:
        """Until the end, or until a fault has ended the process as far as its peers can see."""
        waiting = asyncio.ensure_future(stopped.wait())
        await asyncio.wait((waiting, rpc.ends), return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        if not rpc.ends.done():
            return
        why = rpc.ends.result()
        _say(f"hydra: the process ends: {why}")
        if why.death is Death.EXIT:
            _abort(self._journal, self._player)
        rpc.ends = asyncio.get_running_loop().create_future()
        self._cut_all()
        engine.restart()

    def _serve(self, engine: Engine, request: Request) -> Flow:
        try:
            return (yield from handle(engine, request))
        except ProcessEnds as why:
            self._rpc.process_ends(why)
            raise CutConnection from None

    def _background_failed(self, error: BaseException) -> None:
        if not isinstance(error, ProcessEnds):
            raise error
        self._rpc.process_ends(error)

    def _made(self, serve: Serve) -> Any:
        return lambda: Connection(serve, lambda: None, fds=[], on_gone=self._gone, everyone=self._connections)

    def _gone(self, request: Request) -> None:
        self._journal.write("disconnect", path=request.path)

    def _cut_all(self) -> None:
        self._rpc.cut_all()
        for connection in list(self._connections):
            connection.abort()

    def _announce(self, servers: Sequence[asyncio.Server]) -> None:
        config = self._options.config
        rpc, http = (server.sockets[0].getsockname() for server in servers[:2])
        url = f"http://{http[0]}:{http[1]}"
        self._journal.write(
            "start", argv=self._argv, n_slots=config.n_slots, n_ctx_slot=config.n_ctx, model=config.models[0].alias
        )
        _say(f"hydra: RPC listening on {rpc[0]}:{rpc[1]}")
        _say(f"main: server is listening on {url} (RPC on {rpc[0]}:{rpc[1]})")
        self._journal.write("ready", url=url, rpc=f"{rpc[0]}:{rpc[1]}")


def _controlled(engine: Engine) -> Controlled:
    def state() -> dict[str, Any]:
        rows = [
            {**engine.slot_view(slot), "n_tokens": len(slot.tokens), "reserved_by": slot.reserved_by}
            for slot in engine.slots
        ]
        return {"slots": rows, "entries": len(engine.entries), "evaluated": engine.counters.prompt_tokens}

    def reset() -> None:
        for slot in engine.slots:
            if slot.free and slot.reserved_by is None:
                slot.wipe()

    return Controlled("engine", engine.journal, engine.player, engine.holds, state, reset)


def _say(line: str) -> None:
    os.write(2, line.encode(errors="replace") + b"\n")


def _abort(journal: Journal, player: Player) -> NoReturn:
    journal.write("end", by="fault", faults=player.counts())
    os._exit(ABORTED)


def main(argv: Sequence[str] | None = None) -> int:
    """The exit status: 0 after a signal, 1 where it cannot listen, 2 for a wrong command line."""
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        options = parse_engine_flags(words)
        armed = armed_faults("engine", options.faults, os.environ)
        journal_path = options.journal or os.environ.get(JOURNAL)
        options = replace(options, control=options.control or os.environ.get(CONTROL))
        journal = Journal(journal_path, "engine", time.monotonic_ns, keep=options.control is not None)
    except (EngineFlagError, FaultError) as error:
        _say(f"kvgate fake engine: {error}")
        return USAGE
    except OSError as error:
        _say(f"kvgate fake engine: cannot write the journal: {error}")
        return USAGE
    player = Player(journal, armed)
    try:
        asyncio.run(EngineServer(options, words, journal, player).run())
    except OSError as error:
        _say(f"kvgate fake engine: cannot listen: {error}")
        return 1
    finally:
        if options.control is not None:
            Path(options.control).unlink(missing_ok=True)
        journal.write("end", faults=player.counts())
        journal.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
