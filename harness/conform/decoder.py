"""What is put to the test: the fake, a real server, any command that takes llama-server's flags, or a URL."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.errors import UsageError
from harness.near import did_you_mean
from harness.processes import Guardian, Process
from harness.real import Server, UnknownServer, find_server
from harness.real.start import READY, Started, start

FAKE = "fake"
TOY = "toy:bos=0"
_FAKE_PACE = ("--decode-tps", "2000")
"""About a tiny real model's: an instant fake would never be seen at work."""
_FAKE_LOAD = ("--load-seconds", "0.3")


@dataclass(frozen=True, slots=True)
class Decoder:
    """`server` is None for a URL, which is taken as it is."""

    name: str
    url: str = ""
    server: Server | None = None
    model: str = ""
    threads: tuple[str, ...] = ()
    slow_load: tuple[str, ...] = ()

    @property
    def build(self) -> str:
        if self.server is None:
            return self.url
        return self.server.build if self.server.build.startswith(("b", FAKE)) else self.server.version

    def words(self, flags: Sequence[str], *, port: int = 0) -> tuple[str, ...]:
        return ("-m", self.model, "--host", "127.0.0.1", "--port", str(port), *flags, *self.threads)

    async def start(
        self, guardian: Guardian, flags: Sequence[str], *, folder: Path, name: str, env: Mapping[str, str] | None = None
    ) -> Started:
        """Ready, or a HarnessError."""
        assert self.server is not None
        return await start(guardian, self.server, self.words(flags), folder=folder, name=name, env=env)

    async def launch(
        self, guardian: Guardian, words: Sequence[str], *, folder: Path, name: str, env: Mapping[str, str]
    ) -> Process:
        """Started with just these words."""
        assert self.server is not None
        argv = (*self.server.argv, *words, *self.server.flags)
        return await guardian.start(name, argv, env=env, cwd=folder, log=folder / f"{name}.log", ready=READY)


def find_decoder(spec: str, model: str) -> Decoder:
    """`fake [flags]`, a URL, a real server's name, a path or a command. UsageError or Unavailable: it is none."""
    word, _, flags = spec.strip().partition(" ")
    if word.startswith("https://"):
        raise UsageError(f"{word}: clauses are asked over plain HTTP alone")
    if word.startswith("http://"):
        return Decoder(spec, url=word.rstrip("/"))
    if word == FAKE:
        return _fake(spec, flags.split())
    try:
        server = find_server(spec)
    except UnknownServer as unknown:
        hint = did_you_mean(word, (FAKE,))
        raise UnknownServer(f"no decoder is called {spec!r}{hint}") if "did you mean" in hint else unknown from None
    return Decoder(spec, server=server, model=model, threads=("-t", "1"))


def _fake(spec: str, flags: Sequence[str]) -> Decoder:
    argv = (sys.executable, "-m", "fakes.decoder_server")
    version = flags[flags.index("--fake-version") + 1] if "--fake-version" in flags[:-1] else "b11434"
    server = Server(name=spec, argv=argv, version=version, build=f"{FAKE} {version}", flags=(*_FAKE_PACE, *flags))
    return Decoder(spec, server=server, model=TOY, threads=("-t", "1"), slow_load=_FAKE_LOAD)
