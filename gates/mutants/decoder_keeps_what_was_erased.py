"""An erase is acknowledged, and the slot keeps its tokens."""

from fakes import decoder_server, slot_actions
from fakes.slot_actions import Call, Done

SUITES = ("slot_api/actions",)
REPLACES = "decoder"


def mutate() -> None:
    needs_body, honest = slot_actions.ACTIONS["erase"]

    def erase(call: Call) -> Done:
        held = call.slot.tokens
        reply = yield from honest(call)
        call.slot.tokens = held
        return reply

    slot_actions.ACTIONS["erase"] = (needs_body, erase)


if __name__ == "__main__":
    mutate()
    raise SystemExit(decoder_server.main())
