"""A router that never removes a state file."""

from gates.mutants._in_gates import stand_in
from router.cli import main
from router.routes import state_file
from router.routes.handoff import Handoff

REPLACES = "harness"
TESTS = ("gates/test_router_kills.py::test_the_decoder_is_killed[restore]",)


async def make_and_keep(handoff: Handoff) -> None:
    assert handoff.around.state_files is not None
    handoff.file = handoff.around.state_files.new_file(".bin")


def mutate() -> None:
    state_file.STEPS = (make_and_keep, *state_file.STEPS[1:])


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
stand_in(__name__)
