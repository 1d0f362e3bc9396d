"""DECODE goes on without the state that its kv segment turns out not to be, whatever is wrong with it."""

from fakes import engine_server
from fakes.engine.decode_op import MergedDecode
from fakes.engine.intake import Delivery
from wire.errors import RemoteWireError

SUITES = ("hydra_conformance/bad_state", "hydra_decode_apply/v1", "hydra_decode_apply/hash_mismatch")
REPLACES = "engine"


def mutate() -> None:
    honest = MergedDecode._delivered

    def delivered(self: MergedDecode) -> tuple[str, Delivery | None]:
        try:
            return honest(self)
        except RemoteWireError:
            return "", None

    MergedDecode._delivered = delivered  # type: ignore[method-assign]


if __name__ == "__main__":
    mutate()
    raise SystemExit(engine_server.main())
