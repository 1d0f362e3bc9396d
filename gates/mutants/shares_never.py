"""--kv-share is ignored: every handoff goes by state file."""

from router.cli import main
from router.routes import shared, state_file

SUITES = ("hybrid_kvshare_route", "parity")


def mutate() -> None:
    shared.hand_over = state_file.hand_over


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
