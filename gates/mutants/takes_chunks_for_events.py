"""What arrives together is taken for one whole event, and dropped where it is none."""

from router.cli import main
from router.decoder_client import Upstream

SUITES = (
    "router_invariants/i31_bytes_character",
    "router_invariants/i31_bytes_lines",
    "router_invariants/i31_bytes_pieces",
    "router_invariants/i31_bytes_together",
    "router_invariants/i32_what_is_not_understood_ends_nothing",
)


def mutate() -> None:
    honest = Upstream.chunk

    async def chunk(self: Upstream, seconds: float) -> bytes:
        while came := await honest(self, seconds):
            if came.startswith(b"data: ") and came.endswith(b"\n\n") and came.count(b"data: ") == 1:
                return came
        return b""

    Upstream.chunk = chunk  # type: ignore[method-assign]


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
