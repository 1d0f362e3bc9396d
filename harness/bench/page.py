"""What was measured, as rows, and the page that keeps them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """One number: what it is of, the bound it is held to, and how it was come by."""

    what: str
    bound: str
    measured: str
    holds: bool | None
    how: str

    @property
    def verdict(self) -> str:
        return {True: "holds", False: "**missed**", None: ""}[self.holds]


def at_most(what: str, bound: float, measured: float, unit: str, how: str) -> Row:
    return Row(what, f"at most {bound:g}{unit}", f"{measured:.3g}{unit}", measured <= bound, how)


def at_least(what: str, bound: float, measured: float, unit: str, how: str) -> Row:
    return Row(what, f"at least {bound:g}{unit}", f"{measured:.3g}{unit}", measured >= bound, how)


def page(rows: Sequence[Row], machine: str, measured_on: str) -> str:
    """The whole of docs/benchmarks.md."""
    lines = [
        "# Benchmarks",
        "",
        "Written by `make bench`. Machines are noisy: a ratio compares two things measured in one run, side by side,",
        "and interleaved; absolute times are this machine's. No test asserts any of these numbers.",
        "",
        f"Measured on {measured_on}, {machine}.",
        "",
        "| what | bound | measured | | how |",
        "|---|---|---|---|---|",
    ]
    lines += [f"| {r.what} | {r.bound} | {r.measured} | {r.verdict} | {r.how} |" for r in rows]
    return "\n".join(lines) + "\n"
