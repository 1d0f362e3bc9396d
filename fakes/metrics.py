"""GET /metrics: llama-server's counters and gauges in Prometheus' text form."""

from __future__ import annotations

from fakes.machine import Machine


def metrics_text(machine: Machine) -> bytes:
    """The page. The two rates are averages since the page was last asked for, as the real server's are."""
    counters, bucket = machine.counters, machine.counters.bucket
    prompt_rate = bucket["pn"] / bucket["ps"] if bucket["ps"] else 0.0
    predicted_rate = bucket["tn"] / bucket["ts"] if bucket["ts"] else 0.0
    for name in bucket:
        bucket[name] = 0.0
    busy = sum(slot.is_busy for slot in machine.slots)
    per_decode = counters.n_busy_slots / counters.n_decode if counters.n_decode else 0.0
    rows: tuple[tuple[str, str, str, float], ...] = (
        ("counter", "prompt_tokens_total", "Prompt tokens evaluated.", counters.prompt_tokens),
        ("counter", "prompt_tokens_cached_total", "Prompt tokens reused.", counters.prompt_tokens_cached),
        ("counter", "prompt_seconds_total", "Prompt evaluation time.", counters.prompt_seconds),
        ("counter", "tokens_predicted_total", "Tokens generated.", counters.predicted_tokens),
        ("counter", "tokens_predicted_seconds_total", "Generation time.", counters.predicted_seconds),
        ("counter", "n_decode_total", "Calls to decode.", counters.n_decode),
        ("counter", "n_tokens_max", "Most tokens a slot has held.", counters.n_tokens_max),
        ("counter", "spec_decode_num_draft_tokens_total", "Tokens drafted.", 0),
        ("counter", "spec_decode_num_accepted_tokens_total", "Drafted tokens accepted.", 0),
        ("counter", "spec_decode_num_drafts_total", "Drafts.", 0),
        ("gauge", "prompt_tokens_seconds", "Prompt tokens a second since last asked.", prompt_rate),
        ("gauge", "predicted_tokens_seconds", "Generated tokens a second since last asked.", predicted_rate),
        ("gauge", "requests_processing", "Busy slots.", busy),
        ("gauge", "requests_deferred", "Waiting tasks.", len(machine.scheduler.deferred)),
        ("gauge", "n_busy_slots_per_decode", "Busy slots of a decode on average.", per_decode),
    )
    lines = [
        f"# HELP llamacpp:{name} {help_text}\n# TYPE llamacpp:{name} {kind}\nllamacpp:{name} {value:g}\n"
        for kind, name, help_text, value in rows
    ]
    return "".join(lines).encode()
