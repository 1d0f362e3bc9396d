"""A stream that an engine broke off ends for the client like one that is whole."""

from router.cli import main
from router.engines.results import EngineReply
from router.errors import CutOff
from wire.sse import DONE, encode_event

SUITES = ("hydra_router/decode_dies",)


def mutate() -> None:
    honest = EngineReply.chunk

    async def chunk(self: EngineReply, seconds: float) -> bytes:
        if self._done:
            return b""
        try:
            return await honest(self, seconds)
        except CutOff:
            self._done = True
            return encode_event(DONE)

    EngineReply.chunk = chunk  # type: ignore[method-assign]


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
