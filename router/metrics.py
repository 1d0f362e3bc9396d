"""What the router counts, in Prometheus' naming. One registry per router, none of it global."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)


class Metrics:
    """The instruments. Gauges of slots and queue are read when they are asked for."""

    content_type = CONTENT_TYPE_LATEST

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = self._counter("kvgate_requests", "Requests by route and outcome.", "route", "outcome")
        self.reasons = self._counter("kvgate_route_reasons", "Why requests took their route.", "route", "reason")
        self.handoffs = self._counter("kvgate_handoffs", "Handoffs by what the decoder counted.", "route", "use")
        self.failures = self._counter("kvgate_handoff_failures", "Handoff steps that failed.", "step", "outcome")
        self.engine_identity = self._counter(
            "kvgate_engine_identity", "State compared with its receiver's model, by verdict.", "verdict"
        )
        self.engine_prefill_fallbacks = self._counter(
            "kvgate_engine_prefill_fallbacks", "Prompts that an engine prefilled over HTTP instead."
        )
        self.engine_model_fallbacks = self._counter(
            "kvgate_engine_model_fallbacks", "PREFILLs that another model than the asked one did."
        )
        self.engine_state_bytes = self._counter("kvgate_engine_state_bytes", "State passed on between engines.")
        self.tokens_again = self._counter(
            "kvgate_tokens_prefilled_twice", "Prompt tokens that were handed over and evaluated by the decoder again."
        )
        self.tokens_handed = self._counter("kvgate_tokens_handed_over", "Prompt tokens handed over.")
        self.tokens_evaluated = self._counter("kvgate_tokens_evaluated", "Prompt tokens the decoders evaluated.")
        self.tokens_cached = self._counter("kvgate_tokens_cached", "Prompt tokens the decoders had already.")
        self.first_byte = self._histogram("kvgate_first_byte_seconds", "Request read to first body byte.", "route")
        self.duration = self._histogram("kvgate_request_seconds", "Request read to end of reply.", "route")
        self.in_flight = Gauge("kvgate_requests_in_flight", "Requests being served.", registry=self.registry)
        self.decoder_ready = Gauge(
            "kvgate_decoder_ready", "1 for a decoder in service.", ["decoder"], registry=self.registry
        )
        self.decoder_restarts = self._counter("kvgate_decoder_restarts", "Starts of the child decoder after its first.")

    def ended(self, route: str, reason: str, outcome: str, seconds: float) -> None:
        """One request has ended."""
        self.requests.labels(route, outcome).inc()
        self.reasons.labels(route, reason).inc()
        self.duration.labels(route).observe(seconds)

    def watch(self, name: str, text: str, read: Callable[[], float]) -> None:
        """A gauge that is read when it is asked for."""
        Gauge(name, text, registry=self.registry).set_function(read)

    def text(self) -> bytes:
        return generate_latest(self.registry)

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(name, text, labels, registry=self.registry)

    def _histogram(self, name: str, text: str, *labels: str) -> Histogram:
        return Histogram(name, text, labels, registry=self.registry, buckets=_SECONDS)
