"""The planted bug: how many tokens a prefill says it did is not read, so a short state file is decoded from."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import router

SUITES = ("handoff",)


def believe(output: str, asked: int) -> None:
    """Whatever it says."""


if __name__ == "__main__":
    router.check_claim = believe
    router.restore = lambda backend, slot, name, count: router.post(
        f"{backend}/slots/{slot}?action=restore", {"filename": name}
    )
    sys.exit(router.main())
