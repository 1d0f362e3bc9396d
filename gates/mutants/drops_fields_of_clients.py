"""A client's stop words, and the newer names of its limits, do not reach the decoder."""

from router.cli import main
from router.request_body import ClientRequest

SUITES = (
    "router_invariants/i25_limits_govern_the_whole_answer",
    "router_invariants/i26_the_same_as_from_the_decoder_alone",
)


def mutate() -> None:
    honest = ClientRequest.with_fields

    def with_fields(self: ClientRequest, fields: dict[str, object]) -> bytes:
        for name in ("stop", "max_completion_tokens", "n_predict"):
            self.body.pop(name, None)
        return honest(self, {**fields, "stream": self.streamed})

    ClientRequest.with_fields = with_fields  # type: ignore[method-assign]


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
