"""A kv segment without a hash is refused."""

from fakes import engine_server
from fakes.engine import decode_op
from fakes.engine.decode_op import MergedDecode
from wire.decode import ControlHeader

SUITES = ("hydra_decode_apply/hash_mismatch",)
REPLACES = "engine"


def mutate() -> None:
    honest = MergedDecode._control

    def control(self: MergedDecode, header: ControlHeader) -> None:
        if header.kv.hash is None:
            raise decode_op._bad_request("the kv segment has no hash")
        honest(self, header)

    MergedDecode._control = control  # type: ignore[method-assign]


if __name__ == "__main__":
    mutate()
    raise SystemExit(engine_server.main())
