"""A record as a timeline: who did what when, on one clock. For people; nothing is judged by it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from harness.record import Event, Exchange, Record
from harness.result import TimelineEvent

_QUIET = frozenset(("start", "ready", "tokenize", "apply_template", "end"))
_MOST_LINES = 60
_MOST_CHARACTERS = 300
_TOLD = (
    "status",
    "n_tokens",
    "n_adopted",
    "n_restored",
    "n_saved",
    "prompt_n",
    "cache_n",
    "predicted_n",
    "count",
    "name",
)


def timeline(record: Record, under_test: str) -> tuple[TimelineEvent, ...]:
    """Every lane's events, by time. What the build under test says is its lane, at the moment it was read."""
    events = (*_client(record.exchanges), *_journals(record), *_said(record, under_test))
    return tuple(sorted(events, key=lambda event: event.t_ns))


def _said(record: Record, under_test: str) -> Iterator[TimelineEvent]:
    """The build's lines from the first request on; a build that says much is drawn as far as it can be read."""
    log = record.logs.get("build")
    sent = [exchange.reply.timings.sent_ns for exchange in record.exchanges]
    if log is None or not sent:
        return
    during = [(line, t_ns) for line, t_ns in zip(log.lines, log.stamps, strict=False) if t_ns >= min(sent)]
    for line, t_ns in during[:_MOST_LINES]:
        yield TimelineEvent(under_test, t_ns, line[:_MOST_CHARACTERS])


def _client(exchanges: Iterable[Exchange]) -> Iterator[TimelineEvent]:
    for exchange in exchanges:
        times, reply = exchange.reply.timings, exchange.reply
        told = reply.failure or f"status {reply.status}"
        yield TimelineEvent("client", times.sent_ns, f"request {exchange.name}", times.end_ns, told)
        first = times.token_ns[0] if times.token_ns else times.first_byte_ns
        if first is not None:
            yield TimelineEvent("client", first, "first token" if times.token_ns else "first byte")


def _journals(record: Record) -> Iterator[TimelineEvent]:
    for lane, journal in record.journals.items():
        starts: dict[object, int] = {}
        for event in journal.events:
            pid = event.fields.get("pid")
            if event.event == "start":
                starts[pid] = event.t_ns
            elif event.event == "end" and lane == "provider":
                yield TimelineEvent(lane, starts.get(pid, event.t_ns), "prefill", event.t_ns, _detail(event))
            elif event.event not in _QUIET:
                yield _entry(lane, event)


def _entry(lane: str, event: Event) -> TimelineEvent:
    first = event.fields.get("t_first_ns")
    if event.event == "completion" and isinstance(first, int):
        return TimelineEvent(lane, first, event.event, event.t_ns, _detail(event))
    return TimelineEvent(lane, event.t_ns, event.event, None, _detail(event))


def _detail(event: Event) -> str:
    return ", ".join(f"{name} {event.fields[name]}" for name in _TOLD if name in event.fields)
