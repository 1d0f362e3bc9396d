"""Starts the decoders of a run: fakes from the warm process, real servers from the guardian."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.plan import Folders, Options, base_env, decoder_flags, fake_decoder_argv
from harness.processes import Process
from harness.scenario import DecoderSpec

if TYPE_CHECKING:
    from harness.session import Session

LISTENING = re.compile(r"listening on (?P<url>http://\S+)")
FAKE_READY_S = 20.0
REAL_READY_S = 120.0


@dataclass(frozen=True, slots=True)
class Decoder:
    """A decoder that is ready."""

    process: Process
    url: str
    model: str
    journaled: bool


async def start_decoder(
    session: Session, spec: DecoderSpec, who: str, folders: Folders, options: Options, seed: int
) -> Decoder:
    """Ready to serve, or ProcessDied / DeadlineMissed / Unavailable."""
    log = folders.evidence / f"{who}.log"
    env = base_env("real" if spec.real else "fake", folders)
    if spec.real:
        from harness.models import resolve
        from harness.real import find_server

        model = options.model or str(resolve(spec.model))
        argv = [*find_server().argv, *decoder_flags(spec, model, folders, options)]
        process = await session.guardian.start(who, argv, env=env, cwd=folders.cwd, log=log, ready=LISTENING)
    else:
        model = options.model or spec.model or "toy"
        argv = fake_decoder_argv(spec, who, folders, options, seed)
        warm, pipe = await session.warm(), folders.scratch / f"{who}.out"
        process = await warm.start("decoder", who, argv, env=env, cwd=folders.cwd, log=log, ready=LISTENING, pipe=pipe)
    found = await process.ready(REAL_READY_S if spec.real else FAKE_READY_S)
    return Decoder(process, found["url"], model, journaled=not spec.real)
