"""`decoder.*`, `provider.*`, `prefill.*`: entries of a fake's journal, the decoder's side of the truth.

The tables name the entries and fields that there are, so that a mistyped one is refused when the scenario is
loaded. `decoder.prompt_n` and `decoder.cache_n` are short for that field of the completion.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.checks.expectation import Expected, FieldsAre, FieldsExpected, Lookup
from harness.checks.judge import CannotCompare, Seen, Sighting, Unseen
from harness.checks.look import Look, Observable
from harness.record import Event, Exchange, Journal, Record

_ALWAYS = ("t_ns", "seq", "who", "pid", "event")

DECODER_EVENTS: Mapping[str, tuple[str, ...]] = {
    "start": ("argv", "n_slots", "n_ctx_slot", "model", "kv_inode", "kv_inodes"),
    "ready": ("url",),
    "completion": (
        "endpoint", "stream", "id_slot", "served_slot", "cache_prompt", "prompt_tokens", "n_prompt", "cache_n",
        "prompt_n", "predicted_n", "predicted", "stop_type", "status", "cancelled", "t_first_ns", "t_end_ns",
    ),
    "share": ("slot", "asked", "n_tokens", "socket", "status", "share_id", "connected", "n_descriptors"),
    "adopt": ("slot", "asked", "share_id", "tokens", "n_adopted", "status"),
    "save": ("slot", "asked", "filename", "status", "n_saved"),
    "restore": ("slot", "asked", "filename", "status", "n_restored"),
    "erase": ("slot", "asked", "status", "n_erased"),
    "tokenize": ("n",),
    "apply_template": (),
    "held": ("point",),
    "released": ("point",),
    "disconnect": ("path",),
    "fault": ("name", "point", "reached", "fired"),
    "fault_no_effect": ("name", "point"),
    "end": ("faults", "by", "status", "signal"),
}  # fmt: skip

PROVIDER_EVENTS: Mapping[str, tuple[str, ...]] = {
    "start": ("route", "n_tokens", "tokens", "fds", "state_file"),
    "rows": ("count",),
    "claim": ("line",),
    "hangs": (),
    "fault": ("name", "point", "reached", "fired"),
    "fault_no_effect": ("name", "point"),
    "end": ("status", "faults", "by"),
}

ENGINE_EVENTS: Mapping[str, tuple[str, ...]] = {
    "start": ("argv", "n_slots", "n_ctx_slot", "model"),
    "ready": ("url", "rpc"),
    "connected": ("connection", "arrival"),
    "disconnected": ("connection",),
    "rpc": (
        "connection", "op", "key", "slot", "trace", "payload_bytes", "payload_sha256", "status", "answer_bytes",
        "answer_sha256", "written",
    ),
    "execution": ("op", "trace", "slot", "n"),
    "prefill": ("slot", "trace", "n_prompt", "prompt_tokens", "bytes"),
    "prefill_refused": ("slot", "why"),
    "state_get": ("slot", "n_tok", "n_past", "bytes"),
    "restore": (
        "op", "slot", "form", "ok", "why", "n_tok", "n_cells", "n_tokens_restored", "n_past", "tokens", "kv_bytes",
        "checkpoint", "logits",
    ),
    "reserved": ("slot", "decode_request_id"),
    "unreserved": ("slot", "decode_request_id"),
    "decode_apply": ("decode_request_id", "move", "state"),
    "decode_read": ("decode_request_id", "state", "status"),
    "decode_cancelled": ("decode_request_id", "slot"),
    "prompt_match": (
        "slot", "row", "n_slot", "n_new", "n_common", "n_past", "logits_reused", "why", "kv_removed_from",
    ),
    "completion": (
        "endpoint", "stream", "id_slot", "served_slot", "cache_prompt", "prompt_tokens", "n_prompt", "cache_n",
        "prompt_n", "predicted_n", "predicted", "stop_type", "status", "cancelled", "t_first_ms", "decode_request_id",
    ),
    "erase": ("slot", "status", "n_erased"),
    "swap": ("alias", "model"),
    "held": ("point",),
    "released": ("point",),
    "disconnect": ("path",),
    "fault": ("name", "point", "reached", "fired"),
    "end": ("faults", "by"),
}  # fmt: skip

WHO: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "decoder": DECODER_EVENTS,
    "decoder2": DECODER_EVENTS,
    "decoder3": DECODER_EVENTS,
    "decoder4": DECODER_EVENTS,
    "prefill": DECODER_EVENTS,
    "provider": PROVIDER_EVENTS,
    "engine": ENGINE_EVENTS,
    "peer": ENGINE_EVENTS,
    "engine_prefill": ENGINE_EVENTS,
    "engine_decode": ENGINE_EVENTS,
}

OWN_PROMPT = "prompt.tokens"
LONGEST_LOOK = 4
"""Tokens."""


def paths() -> tuple[str, ...]:
    """Every path that `same_as` may name."""
    named = (f"{who}.{event}.{name}" for who, events in WHO.items() for event in events for name in events[event])
    return (OWN_PROMPT, *named)


def lookup_in(record: Record, request: str | None) -> Lookup:
    """Reads `same_as` paths in one record; `prompt.tokens` is the prompt of `request`, or of the first."""

    def lookup(path: str) -> Any:
        if path == OWN_PROMPT:
            return list(_exchange(record, request).prompt_tokens)
        who, event, name = path.split(".")
        journal = whole_journal(record, who)
        if isinstance(journal, Unseen):
            raise CannotCompare(f"{path}: {journal.why}")
        found = next((each for each in journal.events if each.event == event), None)
        if found is None or name not in found.fields:
            raise LookupError(f"there is no {path}")
        return found.fields[name]

    return lookup


def _exchange(record: Record, request: str | None) -> Exchange:
    if not record.exchanges:
        raise CannotCompare("no request was sent")
    return next(each for each in record.exchanges if request is None or each.name == request)


def whole_journal(record: Record, who: str) -> Journal | Unseen:
    journal = record.journals.get(who)
    if journal is None:
        return Unseen(f"this run has no {who} that keeps a journal")
    return Unseen(journal.incomplete) if journal.incomplete else journal


def _seen(record: Record, look: Look, who: str, event: str) -> Seen | Unseen:
    journal = whole_journal(record, who)
    if isinstance(journal, Unseen):
        return journal
    found = [each for each in journal.events if each.event == event and _of_request(record, look, each)]
    found = [each for each in found if not _is_a_look(record, each)]
    sightings = tuple(Sighting(each.fields, journal.where(each), _when(each)) for each in found)
    return Seen(f"{who}.{event}", sightings)


def _when(event: Event) -> int:
    """When it happened; a completion is written at its end, and counts from its first token."""
    first = event.fields.get("t_first_ns")
    return first if event.event == "completion" and isinstance(first, int) else event.t_ns


def _of_request(record: Record, look: Look, event: Event) -> bool:
    """Whether an entry belongs to the look's request: told by the prompt's ids, where the entry carries them."""
    if look.request is None:
        return True
    prompt = list(_exchange(record, look.request).prompt_tokens)
    carried = event.fields.get("prompt_tokens") or event.fields.get("tokens")
    return carried is None or carried in (prompt, prompt[:-1])


def _is_a_look(record: Record, event: Event) -> bool:
    """A router may have a decoder evaluate a handful of tokens to see what kind of state it saves: no reply is made of
    that, and no prefill is hidden in it. It uses the last tokens of the prompt at hand, asks for none, and on the
    decoder's own endpoint."""
    if event.event != "completion" or event.fields.get("endpoint") != "/completion":
        return False
    prompt, n_made = event.fields.get("prompt_tokens") or [], event.fields.get("predicted_n") or 0
    if not 0 < len(prompt) <= LONGEST_LOOK or n_made > 1:
        return False
    return any(_is_end(prompt, each) for exchange in record.exchanges for each in _handed(exchange.prompt_tokens))


def _handed(prompt: Sequence[int]) -> tuple[Sequence[int], ...]:
    """What may be handed over of a prompt."""
    return prompt, prompt[:-1]


def _is_end(part: list[int], whole: Sequence[int]) -> bool:
    return len(part) < len(whole) and part == list(whole[-len(part) :])


def _event_observable(who: str, event: str, known: tuple[str, ...]) -> Observable:
    fields = (*known, *_ALWAYS)

    def observe(record: Record, look: Look, lookup: Lookup) -> Seen | Unseen:
        return _seen(record, look, who, event)

    def wrong(expected: FieldsAre, value: Any, lookup: Lookup) -> str | None:
        return expected.wrong(value, lookup)

    shape = FieldsExpected(fields, Expected(paths))
    return Observable(f"{who}.{event}", f"a {event} entry of the {who}'s journal", shape, observe, wrong, fields, True)


def _field_observable(who: str, name: str) -> Observable:
    def observe(record: Record, look: Look, lookup: Lookup) -> Seen | Unseen:
        seen = _seen(record, look, who, "completion")
        if isinstance(seen, Unseen):
            return seen
        values = tuple(Sighting(each.value.get(name), each.where, each.t_ns) for each in seen.values)
        return Seen(f"{who}.{name}", values)

    def wrong(expected: Any, value: Any, lookup: Lookup) -> str | None:
        found: str | None = expected.wrong(value, lookup)
        return found

    means = f"{name} of the {who}'s completion"
    return Observable(f"{who}.{name}", means, Expected(paths), observe, wrong, (), True)


OBSERVABLES = (
    *(_event_observable(who, event, known) for who, events in WHO.items() for event, known in events.items()),
    *(_field_observable(who, name) for who in ("decoder", "decoder2", "prefill") for name in ("prompt_n", "cache_n")),
)
