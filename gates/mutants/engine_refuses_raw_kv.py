"""DECODE refuses a kv segment that is neither v2 nor v3."""

from fakes import engine_server
from fakes.engine import intake
from wire.blob import RawKv, StateBlob
from wire.blob_reader import BlobLimits
from wire.errors import RemoteWireError

SUITES = ("hydra_decode_apply/raw", "hydra_decode_apply/v1")
REPLACES = "engine"


def mutate() -> None:
    honest = intake.read_for_decode

    def read(data: bytes, limits: BlobLimits) -> StateBlob | RawKv:
        blob = honest(data, limits)
        if isinstance(blob, RawKv):
            raise RemoteWireError("raw KV has no token list")
        return blob

    intake.read_for_decode = read


if __name__ == "__main__":
    mutate()
    raise SystemExit(engine_server.main())
