"""A router whose children find its keys in their environment."""

from collections.abc import Mapping, Sequence

from gates.mutants._in_gates import stand_in
from router import parts
from router.child_process import MARK
from router.cli import main

REPLACES = "harness"
TESTS = ("gates/test_router_security.py::test_secrets_and_prompts_are_in_no_log_no_child_and_no_report",)


def everything(environment: Mapping[str, str], mark: str, keys: Sequence[str]) -> dict[str, str]:
    return {**environment, "KEYS": " ".join(keys), MARK: mark}


def mutate() -> None:
    parts.child_environment = everything


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
stand_in(__name__)
