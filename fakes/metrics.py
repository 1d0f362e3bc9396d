"""GET /metrics: llama-server's counters and gauges in Prometheus' text form."""

from __future__ import annotations

from dataclasses import dataclass, field

METRICS_TYPE = "text/plain; version=0.0.4"


@dataclass(slots=True)
class Counters:
    """What the page counts. `bucket` is what has come since it was last asked for."""

    prompt_tokens: int = 0
    prompt_tokens_cached: int = 0
    prompt_seconds: float = 0.0
    predicted_tokens: int = 0
    predicted_seconds: float = 0.0
    n_decode: int = 0
    n_tokens_max: int = 0
    n_busy_slots: int = 0
    bucket: dict[str, float] = field(default_factory=lambda: dict.fromkeys(("pn", "ps", "tn", "ts"), 0.0))

    def count_prompt(self, n_evaluated: int, n_cached: int, seconds: float) -> None:
        """A prompt is in its slot."""
        self.prompt_tokens += n_evaluated
        self.prompt_tokens_cached += n_cached
        self.prompt_seconds += seconds
        self.bucket["pn"] += n_evaluated
        self.bucket["ps"] += seconds

    def count_predicted(self, n_predicted: int, seconds: float, n_held: int) -> None:
        """A reply has ended; its slot then held `n_held` tokens."""
        self.predicted_tokens += n_predicted
        self.predicted_seconds += seconds
        self.n_decode += n_predicted
        self.n_busy_slots += n_predicted
        self.n_tokens_max = max(self.n_tokens_max, n_held)
        self.bucket["tn"] += n_predicted
        self.bucket["ts"] += seconds


def metrics_text(counters: Counters, n_busy: int, n_deferred: int | None) -> bytes:
    """The page. The two rates are averages since the page was last asked for, as the real server's are.

    `n_deferred` None: the server has no queue that it counts, and says nothing of one.
    """
    bucket = counters.bucket
    prompt_rate = bucket["pn"] / bucket["ps"] if bucket["ps"] else 0.0
    predicted_rate = bucket["tn"] / bucket["ts"] if bucket["ts"] else 0.0
    for name in bucket:
        bucket[name] = 0.0
    per_decode = counters.n_busy_slots / counters.n_decode if counters.n_decode else 0.0
    rows: tuple[tuple[str, str, str, float | None], ...] = (
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
        ("gauge", "requests_processing", "Busy slots.", n_busy),
        ("gauge", "requests_deferred", "Waiting tasks.", n_deferred),
        ("gauge", "n_busy_slots_per_decode", "Busy slots of a decode on average.", per_decode),
    )
    told = [row for row in rows if row[3] is not None]
    lines = [
        f"# HELP llamacpp:{name} {help_text}\n# TYPE llamacpp:{name} {kind}\nllamacpp:{name} {value:g}\n"
        for kind, name, help_text, value in told
    ]
    return "".join(lines).encode()
