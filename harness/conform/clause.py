"""Clauses: a section of the protocol, a sentence that is true of llama-server, and the probe that shows it.

The sentence is the clause's identity: in tables, in the list of known differences, in tests.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from harness.conform.match import mismatch
from harness.conform.wire_client import Ask

if TYPE_CHECKING:
    from harness.conform.target import Target

Probe = Callable[[Any], Awaitable[None]]
"""Is given a `Target`, or an `OwnProcess` where it starts its own."""


class Broken(Exception):
    """The decoder does something else; the message says what was seen."""


class NotSeen(Exception):
    """The clause cannot be looked at here; the message says why."""


class TooLate(NotSeen):
    """What was to be looked at had passed already; another try may be in time."""


class Outcome(Enum):
    HOLDS = "holds"
    BROKEN = "broken"
    NOT_SEEN = "not seen"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Clause:
    """`setting` names the flags that the decoder has to run with."""

    section: str
    says: str
    probe: Probe
    setting: str = "plain"


def probed(section: str, *probes: Probe, setting: str = "plain") -> tuple[Clause, ...]:
    """Clauses whose sentence is their probe's docstring."""
    return tuple(Clause(section, _sentence(probe), probe, setting) for probe in probes)


def _sentence(probe: Probe) -> str:
    said = (probe.__doc__ or "").split("\n\n")[0]
    return " ".join(said.split()).removesuffix(".")


def row(
    section: str,
    says: str,
    ask: Ask,
    status: int = 200,
    like: Any = None,
    *,
    headers: dict[str, str | None] | None = None,
    setting: str = "plain",
) -> Clause:
    """A clause that is one question: the answer's status, what its JSON is like, some of its headers (None: none)."""

    async def probe(target: Target) -> None:
        answer = await target.ask(ask)
        expect(answer.status, status, "the status")
        if like is not None:
            expect(answer.json, like)
        for name, value in (headers or {}).items():
            expect(answer.header(name), value, f"the header {name}")

    return Clause(section, says, probe, setting)


def refused(section: str, says: str, ask: Ask, status: int, kind: str, message: Any, **more: Any) -> Clause:
    """A clause about an error: its body has code, message and type, and the connection is closed."""
    like = {"error": {"code": status, "type": kind, "message": message}}
    return row(section, says, ask, status, like, headers={"Connection": "close"}, **more)


def expect(seen: Any, like: Any, where: str = "") -> None:
    """Broken where `seen` is not like that."""
    if (wrong := mismatch(like, seen, where)) is not None:
        raise Broken(wrong)


def demand(holds: object, otherwise: str) -> None:
    """Broken with these words unless it holds."""
    if not holds:
        raise Broken(otherwise)
