"""Judges a campaign. Each finding is a sentence that is true of a good router, with what was seen.

A request may fail only because its decoder died, and no more of them than the dead decoders had slots.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from gates.load.clients import Outcome, Seen
from gates.load.evidence import Evidence

MEMORY_GROWTH = 1.05
GAUGES = ("kvgate_requests_in_flight", "kvgate_queue_length", "kvgate_slots_leased", "kvgate_slots_doubtful")
AS_SEEN = {
    Outcome.SERVED: {"served"},
    Outcome.REFUSED: {"refused", "decoder-error"},
    Outcome.BROKEN: {"broken"},
}
"""What the router calls what a client saw. A client that left saw nothing, so it cannot say."""
_FEW = 3


@dataclass(frozen=True, slots=True)
class Finding:
    """One sentence, whether it held, and what was looked at."""

    sentence: str
    wrong: tuple[str, ...]
    looked_at: str

    @property
    def holds(self) -> bool:
        return not self.wrong

    def __str__(self) -> str:
        if self.holds:
            return f"ok    {self.sentence} ({self.looked_at})"
        more = f" and {len(self.wrong) - _FEW} more" if len(self.wrong) > _FEW else ""
        return f"FAIL  {self.sentence}: {'; '.join(self.wrong[:_FEW])}{more} ({self.looked_at})"


Judge = Callable[[Evidence], tuple[Iterator[str], str]]


def judge(evidence: Evidence) -> list[Finding]:
    """All findings."""
    found = []
    for sentence, look in JUDGES.items():
        wrong, looked_at = look(evidence)
        found.append(Finding(sentence, tuple(wrong), looked_at))
    return found


def _one_outcome_each(e: Evidence) -> tuple[Iterator[str], str]:
    def wrong() -> Iterator[str]:
        counts = Counter(one.work.index for one in e.seen)
        for index in range(e.options.requests):
            if counts[index] != 1:
                yield f"request {index} has {counts[index]} outcomes at its client"
        for request_id, count in Counter(line["request_id"] for line in e.ended_lines).items():
            if count != 1:
                yield f"request {request_id} has {count} outcomes in the router's log"
        n_left = sum(one.outcome is Outcome.LEFT for one in e.seen)
        n_ended, n_counted = len(e.ended_lines), e.total("kvgate_requests_total")
        if not len(e.seen) - n_left <= n_ended <= len(e.seen):
            yield f"{n_ended} requests have ended at the router, {len(e.seen)} were sent and {n_left} clients left"
        if n_counted != n_ended:
            yield f"the router has logged {n_ended} outcomes and counted {n_counted:g}"

    return wrong(), _counted(Counter(one.outcome.value for one in e.seen))


def _agreed(e: Evidence) -> tuple[Iterator[str], str]:
    answered = [one for one in e.seen if one.outcome is not Outcome.LEFT]

    def wrong() -> Iterator[str]:
        for one in answered:
            line = e.endings.get(one.request_id or "")
            if line is None:
                yield f"request {one.work.index} ({one.says}) is not in the router's log"
            elif line["outcome"] not in AS_SEEN[one.outcome]:
                said = f"{one.outcome.value} to its client and {line['outcome']} to the router"
                yield f"request {one.work.index} is {said}"

    return wrong(), f"{len(answered)} requests"


def _own_reply(e: Evidence) -> tuple[Iterator[str], str]:
    served = [one for one in e.seen if one.outcome is Outcome.SERVED]
    whose = {one.expected: one.work.index for one in served}

    def wrong() -> Iterator[str]:
        if not served:
            yield "nothing was served"
        if len(whose) != len(served):
            yield f"{len(served)} prompts have {len(whose)} different replies: they tell nothing"
        for one in served:
            assert one.reply is not None
            if one.reply.text != one.expected:
                other = whose.get(one.reply.text)
                said = f"that of request {other}" if other is not None else f"{one.reply.text!r:.60}"
                yield f"request {one.work.index} got {said}, and not {one.expected!r:.60}"

    return wrong(), f"{len(served)} replies"


def _failures_explained(e: Evidence) -> tuple[Iterator[str], str]:
    failed = [one for one in e.seen if one.outcome in (Outcome.REFUSED, Outcome.BROKEN)]
    allowed = e.kills * e.options.slots

    def wrong() -> Iterator[str]:
        if len(failed) > allowed:
            yield f"{len(failed)} requests failed, such as {_shown(failed)}"
        for one in failed:
            if one.reply is not None and one.reply.status not in (200, 502, 503):
                yield f"request {one.work.index} was answered {one.says}"

    return wrong(), f"{len(failed)} failed, {e.kills} decoders of {e.options.slots} slots died"


def _handed_over(e: Evidence) -> tuple[Iterator[str], str]:
    lines = [
        e.endings[one.request_id or ""]
        for one in e.seen
        if one.outcome is Outcome.SERVED and one.work.is_long and one.request_id in e.endings
    ]
    routes = Counter(line["route"] for line in lines)
    lost = [line for line in lines if line["handed"] and line["cached"] < line["handed"] - 1]

    def wrong() -> Iterator[str]:
        if routes["plain"] > e.kills * e.options.slots:
            yield f"{routes['plain']} were served plain: {_counted(Counter(line['reason'] for line in lines))}"
        for route in ("shared", "state-file"):
            if e.options.decoders > 1 and e.options.handed_over and not routes[route]:
                yield f"none went the {route} route"
        if len(lost) > e.kills * e.options.slots:
            yield f"the decoders did not use {len(lost)} handoffs, such as {lost[0]['message']}"

    return wrong(), _counted(routes)


def _slots_unshared(e: Evidence) -> tuple[Iterator[str], str]:
    n_pinned = sum(entry["event"] == "completion" for entries in e.journals.values() for entry in entries)

    def wrong() -> Iterator[str]:
        if not n_pinned:
            yield "the journals have no completion"
        for name, entries in e.journals.items():
            yield from (f"{name}: {each}" for each in _foreign_in_slot(entries))

    return wrong(), f"{n_pinned} completions in {len(e.journals)} journals"


def _foreign_in_slot(entries: list[dict[str, Any]]) -> Iterator[str]:
    """What came into a slot between a handoff and the completion that it was for, or where it was not pinned to."""
    filled: dict[int, tuple[str, int]] = {}
    for entry in entries:
        match entry["event"]:
            case "adopt" | "restore" if entry["status"] == 200:
                filled[entry["slot"]] = entry["event"], entry.get("n_adopted") or entry["n_restored"]
            case "share" | "erase":
                filled.pop(entry["slot"], None)
            case "completion":
                slot = entry["served_slot"]
                if entry["id_slot"] is None or (slot is not None and slot != entry["id_slot"]):
                    yield f"a completion for slot {entry['id_slot']} was served in slot {slot}"
                how, count = filled.pop(slot, ("", 0))
                if entry["status"] == 200 and not entry["cancelled"] and entry["cache_n"] < count - 1:
                    shares = f"a prompt that shares {entry['cache_n']}"
                    yield f"after the {how} of {count} tokens slot {slot} served {shares}"


def _gauges(e: Evidence) -> tuple[Iterator[str], str]:
    def wrong() -> Iterator[str]:
        for name in GAUGES:
            if name not in e.metrics:
                yield f"there is no {name}"
            elif e.metrics[name] != 0:
                yield f"{name} is {e.metrics[name]:g}"
        ready, free = e.total("kvgate_decoder_ready"), e.total("kvgate_slots_free")
        if ready != e.options.decoders:
            yield f"{ready:g} decoders are in service"
        if free != e.options.decoders * e.options.slots:
            yield f"{free:g} slots are free"

    return wrong(), f"{len(GAUGES)} gauges, {e.options.decoders} decoders"


def _memory(e: Evidence) -> tuple[Iterator[str], str]:
    early, late = min(e.memory), max(e.memory)
    shown = ", ".join(f"{size / 2**20:.1f} MiB after {count}" for count, size in sorted(e.memory.items()))

    def wrong() -> Iterator[str]:
        if e.memory[late] > e.memory[early] * MEMORY_GROWTH:
            yield f"{(e.memory[late] / e.memory[early] - 1) * 100:.1f} % more"

    return wrong(), shown


def _nothing_left(e: Evidence) -> tuple[Iterator[str], str]:
    return iter(e.left), "descriptors, sockets, files, processes"


def _ended_well(e: Evidence) -> tuple[Iterator[str], str]:
    errors = [line["message"] for line in e.log if line["level"] == "error"]

    def wrong() -> Iterator[str]:
        yield from (f"the router said {message:.200}" for message in errors)
        if e.exit_status != 0:
            yield f"the router exited {e.exit_status}"

    return wrong(), f"{len(e.log)} lines"


JUDGES: dict[str, Judge] = {
    "every request has exactly one outcome": _one_outcome_each,
    "router and client agree on each outcome": _agreed,
    "every reply is its own request's and no other's": _own_reply,
    "a request fails only where its decoder died": _failures_explained,
    "long prompts are handed over, and the decoders use what they get": _handed_over,
    "a slot is nobody else's between handoff and reply, and every request is pinned": _slots_unshared,
    "all gauges are zero and every decoder is in service at the end": _gauges,
    "memory stays within 5 % of what it was early on": _memory,
    "nothing is left behind": _nothing_left,
    "the router ends in order and without an error of its own": _ended_well,
}


def _counted(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.most_common()) or "none"


def _shown(failed: list[Seen]) -> str:
    return "; ".join(
        f"{count} times {says:.120}" for says, count in Counter(one.says for one in failed).most_common(_FEW)
    )
