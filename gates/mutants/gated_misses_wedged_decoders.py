"""A router that believes a decoder's health, whatever becomes of its work."""

from gates.mutants._in_gates import stand_in
from router import decoders
from router.cli import main
from router.decoder_client import DecoderClient

REPLACES = "harness"
TESTS = ("gates/test_router_lifecycle.py::test_a_wedged_decoder_is_taken_out_by_evidence_and_comes_back",)


async def what_fails(client: DecoderClient) -> str:
    return ""


def mutate() -> None:
    decoders.what_fails = what_fails


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
stand_in(__name__)
