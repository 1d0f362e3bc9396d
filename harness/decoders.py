"""Starts the decoders of a run: fakes from the warm process, real servers from the guardian."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.models import model_file
from harness.plan import TOY, Folders, Options, base_env, decoder_flags, fake_decoder_argv, fake_engine_argv
from harness.processes import Process
from harness.scenario import DecoderSpec, EngineSpec

if TYPE_CHECKING:
    from harness.session import Session

LISTENING = re.compile(r"listening on (?P<url>http://\S+)")
ENGINE_LISTENING = re.compile(r"listening on (?P<url>http://\S+) \(RPC on (?P<rpc>\S+)\)")
FAKE_READY_S = 20.0
REAL_READY_S = 120.0


@dataclass(frozen=True, slots=True)
class Decoder:
    """A decoder that is ready. `notes` say what had to be done to get there."""

    process: Process
    url: str
    model: str
    journaled: bool
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Engine:
    """A fake engine that is ready; `rpc` is HOST:PORT."""

    process: Process
    url: str
    rpc: str


async def start_decoder(
    session: Session,
    spec: DecoderSpec,
    who: str,
    folders: Folders,
    options: Options,
    seed: int,
    again: tuple[int, int] | None = None,
) -> Decoder:
    """Ready to serve, or ProcessDied / DeadlineMissed / Unavailable. `again`: which start, and on which port."""
    if spec.real:
        return await _start_real(session, spec, who, folders, options)
    nth, port = again or (1, 0)
    name = who if nth == 1 else f"{who}-{nth}"
    log = folders.evidence / f"{name}.log"
    env = base_env("fake", folders)
    argv = [*fake_decoder_argv(spec, who, folders, options, seed), "--port", str(port)]
    if "decoder" in dict(options.stand_ins):
        words = [*options.program("decoder"), *argv]
        process = await session.guardian.start(who, words, env=env, cwd=folders.cwd, log=log, ready=LISTENING)
    else:
        warm, pipe = await session.warm(), folders.scratch / f"{name}.out"
        process = await warm.start("decoder", who, argv, env=env, cwd=folders.cwd, log=log, ready=LISTENING, pipe=pipe)
    try:
        found = await process.ready(FAKE_READY_S)
    except BaseException:
        await process.dismiss()
        raise
    return Decoder(process, found["url"], options.model or spec.model or TOY, journaled=True)


async def start_engine(session: Session, spec: EngineSpec, who: str, folders: Folders, seed: int) -> Engine:
    """A fake engine, ready to serve."""
    argv = fake_engine_argv(spec, who, folders, seed)
    warm, pipe = await session.warm(), folders.scratch / f"{who}.out"
    env, log = base_env("fake", folders), folders.evidence / f"{who}.log"
    process = await warm.start(
        "engine", who, argv, env=env, cwd=folders.cwd, log=log, ready=ENGINE_LISTENING, pipe=pipe
    )
    try:
        found = await process.ready(FAKE_READY_S)
    except BaseException:
        await process.dismiss()
        raise
    return Engine(process, found["url"], found["rpc"])


async def _start_real(session: Session, spec: DecoderSpec, who: str, folders: Folders, options: Options) -> Decoder:
    """Model and server are looked for beside the loop: a first time may download them."""
    from harness.real import find_server
    from harness.real.start import start

    model = await asyncio.to_thread(model_file, options.model or spec.model, download=options.real)
    server = await asyncio.to_thread(find_server, spec.server or None)
    flags = decoder_flags(spec, str(model), folders, options)
    started = await start(
        session.guardian,
        server,
        flags,
        folder=folders.evidence,
        name=who,
        cwd=folders.cwd,
        env=base_env("real", folders),
        deadline_s=REAL_READY_S,
    )
    notes = tuple(f"{started.server.name}: {note}" for note in started.server.notes)
    return Decoder(started.process, started.url, str(model), journaled=False, notes=notes)
