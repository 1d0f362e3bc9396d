"""`reply.parity`: whether a greedy reply is the plain run's, token by token.

Ids are compared, not text: from the reply's own log probabilities where it carries them, else from the decoder's
journal, and then the text that reached the client has to agree as well. At the first difference the plain run's
margin is read: under `NEAR_TIE` the comparison of that reply ends there, and the positions before it count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from harness.checks.expectation import Lookup
from harness.checks.journal import whole_journal
from harness.checks.judge import CannotCompare, Seen, Sighting, Unseen
from harness.checks.look import Look, Observable
from harness.checks.reply import replies
from harness.record import Exchange, Journal, Plain, Record
from harness.shapes import OneOf

NEAR_TIE = 0.01
"""Margins in log probability under this are rounding: two right builds may choose differently."""

_ENGINE = "engine_decode"
_DECODERS = ("decoder", "decoder2", "decoder3", "decoder4")

FEWEST_COMPARED = 4
"""A near tie that leaves fewer positions than this leaves nothing to say."""


@dataclass(frozen=True, slots=True)
class Compared:
    """Two sequences of ids. `differs_at` is the first difference; `margin` the plain run's there.

    `whole` is false where the reply was cut short: it then is neither the same nor an answer of its own.
    """

    positions: int
    differs_at: int | None
    margin: float | None
    detail: str
    whole: bool = True


def compare(ids: Sequence[int], plain: Sequence[int], margins: Sequence[float | None] = ()) -> Compared:
    """The first difference of two replies. One that ends sooner differs where it ends."""
    pairs = enumerate(zip(ids, plain, strict=False))
    at = next((index for index, (own, other) in pairs if own != other), None)
    if at is None and len(ids) == len(plain):
        return Compared(len(ids), None, None, f"{len(ids)} ids are the same")
    at = min(len(ids), len(plain)) if at is None else at
    margin = margins[at] if at < len(margins) else None
    own, other = _at(ids, at), _at(plain, at)
    told = "" if margin is None else f", the plain run's margin there is {margin:.4g}"
    return Compared(at, at, margin, f"at token {at} the reply has {own}, the plain run {other}{told}")


def _at(ids: Sequence[int], index: int) -> str:
    return str(ids[index]) if index < len(ids) else "ended"


def _observe(record: Record, look: Look, lookup: Lookup) -> Seen | Unseen:
    wanted = [each for each in replies(record, look) if each.prompt_tokens or each.name == look.request]
    if not wanted:
        return Unseen("no request was sent")
    found: list[Sighting] = []
    for exchange in wanted:
        compared = _compared(record, exchange)
        if isinstance(compared, Unseen):
            return compared
        found.append(Sighting(compared, exchange.where))
    return Seen("parity with the plain run", tuple(found))


def _compared(record: Record, exchange: Exchange) -> Compared | Unseen:
    plain = exchange.plain
    if plain is None or plain.token_ids is None:
        return Unseen(f"request {exchange.name} has no plain run with token ids to compare with")
    if exchange.reply.failure or exchange.reply.status != 200:
        told = exchange.reply.failure or exchange.reply.error or f"status {exchange.reply.status}"
        return Compared(0, 0, None, f"there is no whole reply to compare: {told}", whole=False)
    margins = [choice.margin for choice in plain.reply.choices]
    if exchange.reply.token_ids is not None:
        return compare(exchange.reply.token_ids, plain.token_ids, margins)
    ids = _decoded(record, exchange)
    if isinstance(ids, Unseen):
        return ids
    return _with_text(compare(ids, plain.token_ids, margins), exchange, plain)


def _with_text(compared: Compared, exchange: Exchange, plain: Plain) -> Compared:
    """Equal ids in the decoder are worth nothing to a client that got another text."""
    if compared.differs_at is not None or exchange.reply.text == plain.reply.text:
        return compared
    return Compared(compared.positions, 0, None, "the decoder's ids are the same, the text that arrived is not")


def _decoded(record: Record, exchange: Exchange) -> tuple[int, ...] | Unseen:
    served = _DECODERS if _ENGINE not in record.journals else (_ENGINE,)
    journals = [whole_journal(record, who) for who in served if who in record.journals or who == "decoder"]
    unseen = next((each for each in journals if isinstance(each, Unseen)), None)
    if unseen is not None:
        return unseen
    prompt = list(exchange.prompt_tokens)
    named = [each for each in record.exchanges if each.prompt_tokens == exchange.prompt_tokens]
    events = [event for journal in journals if isinstance(journal, Journal) for event in journal.events]
    found = [e for e in events if e.event == "completion" and e.fields.get("prompt_tokens") == prompt]
    # A DECODE that a router gave up is nobody's reply.
    found = [event for event in found if not (_ENGINE in record.journals and event.fields.get("cancelled"))]
    found.sort(key=lambda event: event.t_ns)
    if len(found) != len(named):
        return Unseen(f"{len(found)} completions in the journal have the prompt of {len(named)} requests")
    return tuple(found[named.index(exchange)].fields["predicted"])


def parity_wrong(expected: str, value: Any, lookup: Lookup) -> str | None:
    """What is wrong with a comparison that should say `same` or `differs`."""
    assert isinstance(value, Compared)
    if expected == "differs":
        return None if value.whole and value.differs_at is not None else f"expected another reply, {value.detail}"
    if value.differs_at is None:
        return None
    if value.margin is None or abs(value.margin) >= NEAR_TIE:
        return f"expected the plain run's reply, {value.detail}"
    if value.positions < FEWEST_COMPARED:
        raise CannotCompare(f"a near tie leaves {value.positions} positions to compare: {value.detail}")
    return None


OBSERVABLES = (
    Observable(
        "reply.parity",
        "same: the greedy reply is the plain run's; differs: it is not",
        OneOf(("same", "differs")),
        _observe,
        parity_wrong,
    ),
)
