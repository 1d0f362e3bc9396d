"""A file that cannot be restored is acknowledged, and the slot keeps what it held."""

from fakes import decoder_server, slot_actions
from fakes.api_error import ApiError
from fakes.slot_actions import Call, Done, _answer

SUITES = ("slot_api/bad_files",)
REPLACES = "decoder"


def mutate() -> None:
    needs_body, honest = slot_actions.ACTIONS["restore"]

    def restore(call: Call) -> Done:
        held = call.slot.tokens
        try:
            return (yield from honest(call))
        except ApiError:
            call.slot.tokens = held
            return _answer(200, {"id_slot": call.asked, "n_restored": len(held)})

    slot_actions.ACTIONS["restore"] = (needs_body, restore)


if __name__ == "__main__":
    mutate()
    raise SystemExit(decoder_server.main())
