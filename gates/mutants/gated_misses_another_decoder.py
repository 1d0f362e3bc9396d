"""A router that takes the decoder behind an address for the one that was there before."""

from gates.mutants import remembers_slots_of_the_dead
from gates.mutants._in_gates import stand_in
from router.cli import main

REPLACES = "harness"
TESTS = ("gates/test_router_lifecycle.py::test_another_decoder_behind_the_same_address_is_noticed",)


if __name__ == "__main__":
    remembers_slots_of_the_dead.mutate()
    raise SystemExit(main())
stand_in(__name__)
