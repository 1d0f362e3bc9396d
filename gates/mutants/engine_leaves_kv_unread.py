"""DECODE is accepted and its state is not restored: nothing of the kv segment reaches the work behind the answer."""

from typing import Any

from fakes import engine_server
from fakes.engine import dispatch
from fakes.engine.decode_op import MergedDecode

SUITES = ("hydra_decode_apply", "hydra_conformance/dripped")
REPLACES = "engine"


class Unread(MergedDecode):
    """The bytes come in, their hash is right, and that is all."""

    def _kv(self, chunk: bytes) -> None:
        self._hash.update(chunk)
        self._intake = None


def mutate() -> None:
    made: Any = Unread
    dispatch.MergedDecode = made  # type: ignore[misc]


if __name__ == "__main__":
    mutate()
    raise SystemExit(engine_server.main())
