"""What is asked wrongly is answered with 200 and an empty object."""

from fakes import decoder, decoder_server
from fakes.api_error import ApiError
from fakes.effects import Flow, Reply
from fakes.http1 import Request
from fakes.machine import Machine

SUITES = ("slot_api/bad_files", "slot_api/context", "slot_api/refusals", "slot_api/switched_off")
REPLACES = "decoder"


def mutate() -> None:
    honest = decoder.handle

    def handle(machine: Machine, request: Request) -> Flow:
        try:
            return (yield from honest(machine, request))
        except ApiError:
            return Reply(200, b"{}")

    decoder_server.handle = handle


if __name__ == "__main__":
    mutate()
    raise SystemExit(decoder_server.main())
