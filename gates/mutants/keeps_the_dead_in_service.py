"""A decoder that is gone stays in service."""

from router.cli import main
from router.decoders import Decoder, Decoders

SUITES = ("router_reports/b38_requests_of_a_decoder_that_dies_end_at_once",)


def leave(self: Decoders, decoder: Decoder) -> None:
    return


def mutate() -> None:
    Decoders._leave = leave  # type: ignore[method-assign]


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
