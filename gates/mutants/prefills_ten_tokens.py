"""The prefill server is asked for ten tokens."""

from typing import Any

from router.cli import main
from router.decoder_client import DecoderClient

SUITES = (
    "router_invariants/i25_the_prefill_leg_makes_one_token_at_most",
    "router_reports/b17_a_lower_limit_reaches_the_decoder_alone",
)


def mutate() -> None:
    honest = DecoderClient.completion

    def completion(self: DecoderClient, path: str, body: bytes, seconds: float) -> Any:
        return honest(self, path, body.replace(b'"n_predict": 0', b'"n_predict": 10'), seconds)

    DecoderClient.completion = completion  # type: ignore[method-assign]


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
