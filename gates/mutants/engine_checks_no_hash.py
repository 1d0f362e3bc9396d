"""The hash of a kv segment is not compared with its bytes."""

from dataclasses import replace

from fakes import engine_server
from fakes.engine.decode_op import MergedDecode
from wire.decode import ControlHeader

SUITES = ("hydra_decode_apply/hash_mismatch",)
REPLACES = "engine"


def mutate() -> None:
    honest = MergedDecode._control

    def control(self: MergedDecode, header: ControlHeader) -> None:
        honest(self, replace(header, kv=replace(header.kv, hash=None)))

    MergedDecode._control = control  # type: ignore[method-assign]


if __name__ == "__main__":
    mutate()
    raise SystemExit(engine_server.main())
