"""Every slot action is refused, as by a server that was started without a folder for slot files."""

from fakes import decoder, decoder_server
from fakes.api_error import ApiError
from fakes.effects import Flow
from fakes.http1 import Request
from fakes.machine import Machine

SUITES = ("slot_api/actions", "slot_api/memory_kinds", "slot_api/refusals")
REPLACES = "decoder"


def refuse(machine: Machine, request: Request, id_text: str) -> Flow:
    raise ApiError(501, "This server does not support slots action. Start it with `--slot-save-path`")
    yield


def mutate() -> None:
    decoder.slot_action = refuse


if __name__ == "__main__":
    mutate()
    raise SystemExit(decoder_server.main())
