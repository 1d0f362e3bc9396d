"""A refused adopt is followed by the state-file route, so that the prompt is prefilled twice."""

from dataclasses import replace

from router.cli import main
from router.routes import choose

SUITES = ("hybrid_kvshare_route/adopt_refused",)


def mutate() -> None:
    for pair, row in choose.TABLE.items():
        if pair[0] is choose.Step.ADOPT and row.next is choose.Next.PLAIN:
            choose.TABLE[pair] = replace(row, next=choose.Next.STATE_FILE)


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
