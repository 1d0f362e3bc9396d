"""All clauses on one decoder: a process for each setting, its clauses one after the other.

Settings run side by side; so do the clauses that start processes of their own, a few at a time.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import traceback
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.conform.clause import Broken, Clause, NotSeen, Outcome, TooLate
from harness.conform.clauses import CLAUSES
from harness.conform.decoder import Decoder
from harness.conform.own_process import OwnProcess
from harness.conform.setting import OWN, SETTINGS
from harness.conform.target import Target
from harness.conform.wire_client import NoAnswer
from harness.errors import DeadlineMissed, HarnessError
from harness.processes import Guardian

_AT_ONCE = 4
CLAUSE_S = 60.0
_TRIES = 8
"""Of a probe that comes too late, as it may on a busy machine."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one clause on one decoder."""

    clause: Clause
    outcome: Outcome
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Judged:
    """One decoder and all its verdicts, in the order of the clauses."""

    decoder: Decoder
    verdicts: tuple[Verdict, ...]

    def count(self, outcome: Outcome) -> int:
        return sum(each.outcome is outcome for each in self.verdicts)

    @property
    def seen(self) -> int:
        return self.count(Outcome.HOLDS) + self.count(Outcome.BROKEN)

    def of(self, clause: Clause) -> Verdict:
        return next(each for each in self.verdicts if each.clause is clause)


def judge(decoders: Sequence[Decoder], folder: Path, clauses: Sequence[Clause] = CLAUSES) -> list[Judged]:
    """Blocking. HarnessError where a decoder cannot be started at all."""
    return asyncio.run(_judge(decoders, folder, clauses))


async def _judge(decoders: Sequence[Decoder], folder: Path, clauses: Sequence[Clause]) -> list[Judged]:
    guardian = Guardian()
    guardian.listen()
    try:
        found = []
        for number, decoder in enumerate(decoders):
            place = folder / f"{number}"
            place.mkdir()
            found.append(await _one(guardian, decoder, place, clauses))
        return found
    finally:
        guardian.close()


async def _one(guardian: Guardian, decoder: Decoder, folder: Path, clauses: Sequence[Clause]) -> Judged:
    groups = [(name, [each for each in clauses if each.setting == name]) for name in (*SETTINGS, OWN)]
    runs = [_group(guardian, decoder, folder, name, group) for name, group in groups if group]
    verdicts = {each.clause: each for group in await asyncio.gather(*runs) for each in group}
    return Judged(decoder, tuple(verdicts[clause] for clause in clauses))


async def _group(guardian: Guardian, decoder: Decoder, folder: Path, name: str, clauses: list[Clause]) -> list[Verdict]:
    if decoder.server is None:
        return await _at_url(decoder, name, clauses)
    if name == OWN:
        return await _own(OwnProcess(guardian, decoder, folder), clauses)
    slots = folder / f"{name}.slots"
    slots.mkdir()
    setting = SETTINGS[name]
    env = {key: value for key, value in os.environ.items() if not key.startswith(("LLAMA_ARG_", "FAKE_"))}
    started = await decoder.start(guardian, setting.words(slots), folder=folder, name=name, env=env)
    target = Target(started.url, setting, folder=slots, log=started.process.output.path)
    try:
        return [await _verdict(clause, target) for clause in clauses]
    finally:
        await started.process.dismiss()


async def _own(own: OwnProcess, clauses: Iterable[Clause]) -> list[Verdict]:
    gate = asyncio.Semaphore(_AT_ONCE)

    async def one(clause: Clause) -> Verdict:
        async with gate:
            return await _verdict(clause, own)

    return list(await asyncio.gather(*map(one, clauses)))


async def _at_url(decoder: Decoder, name: str, clauses: list[Clause]) -> list[Verdict]:
    """A decoder that somebody else started: only what a plain one shows can be asked."""
    if name != "plain":
        flags = "processes of its own" if name == OWN else f"a start with {' '.join(SETTINGS[name].flags)}"
        return [Verdict(each, Outcome.NOT_SEEN, f"needs {flags}") for each in clauses]
    target = Target(decoder.url, SETTINGS[name])
    if await _slots_and_context(target) != (2, 1024):
        raise HarnessError(f"{decoder.url}: start it with {' '.join(SETTINGS[name].flags)}")
    return [await _verdict(clause, target) for clause in clauses]


async def _slots_and_context(target: Target) -> tuple[int, int]:
    """HarnessError: nobody is there, or somebody who has no such thing."""
    try:
        props = await target.props()
        return props["total_slots"], props["default_generation_settings"]["n_ctx"]
    except (OSError, NoAnswer, DeadlineMissed, Broken) as error:
        why = str(error).partition("\n")[0]
    except (KeyError, TypeError, ValueError):
        why = "its /props names neither slots nor context"
    raise HarnessError(f"{target.url}: no llama-server answers there: {why}")


async def _probe(clause: Clause, target: Target | OwnProcess) -> None:
    for _ in range(_TRIES - 1):
        with contextlib.suppress(TooLate):
            return await clause.probe(target)
    return await clause.probe(target)


async def _verdict(clause: Clause, target: Target | OwnProcess) -> Verdict:
    try:
        async with asyncio.timeout(CLAUSE_S):
            await _probe(clause, target)
    except Broken as broken:
        return Verdict(clause, Outcome.BROKEN, str(broken))
    except NotSeen as not_seen:
        return Verdict(clause, Outcome.NOT_SEEN, str(not_seen))
    except (NoAnswer, DeadlineMissed) as silent:
        return Verdict(clause, Outcome.BROKEN, str(silent))
    except (KeyError, IndexError, TypeError) as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        return Verdict(clause, Outcome.BROKEN, f"an answer of another shape: {error!r} at {where.name}:{where.lineno}")
    except (HarnessError, OSError, TimeoutError) as error:
        return Verdict(clause, Outcome.ERROR, f"{type(error).__name__}: {error}")
    return Verdict(clause, Outcome.HOLDS)
