"""Writes docs/invariants.md: what the router must hold, the checks that show it, and what turns each of them red.

    python -m gates.invariants PROOF.json...    results of `kvgate prove router_invariants router_reports --json F`

A check's mutants are those that the proofs saw it red on; a check that none turned red is an error.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from gates.reports import REPORTS
from harness.proof.mutants import find_mutants
from harness.scenario import Scenario
from harness.selection import select

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "invariants.md"

GROUPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "Truth of the handoff",
        (
            "Cached and evaluated tokens add up to the prompt; a reply where they do not is marked.",
            "A handoff counts as used on the decoder's own counters of that very request alone.",
            "Rows wanted, claimed and adopted are compared before the first token goes out.",
            "The decoder evaluates at least one token of every prompt.",
            "A whole prompt that the decoder prefills is named, with its reason, in response, log and counter.",
            "A prompt is prefilled once; a second payment is told in tokens, of the very request.",
            "Rows are offered to no decoder of another model or layout.",
            "A share or state file belongs to one attempt of one request, and is used once.",
            "After a failed adopt the slot is cleared before it is used, or left alone.",
            "A failed save is counted, and leaves the session cold.",
            "No answer holds anything of another request.",
        ),
    ),
    (
        "Coupling of the two legs",
        (
            "When one leg ends in failure the other is ended within a second.",
            "Every wait has a deadline, cut to what is left of the request's own.",
            "What can never be served is refused at once, before any prefill is paid.",
            "Every request has exactly one outcome, recorded once.",
            "Errors reach the client with the status and meaning they had.",
        ),
    ),
    (
        "Retry and fallback",
        (
            "Nothing is sent again that a decoder may have begun.",
            "Nothing is retried, resumed or spliced after the first byte.",
            "An answer that depends on the request alone is not tried again.",
            "A fallback is chosen before the first byte, and who served is named.",
        ),
    ),
    (
        "Accounting",
        (
            "Every count is zero when nothing is in flight.",
            "Every slot is given back exactly once.",
            "A stream holds its slot until the decoder has finished or was closed.",
            "Room goes to nobody while an earlier writer may still write into it.",
            "The client's limits govern the whole answer; the prefill leg makes one token at most.",
            "Usage, finish reason and text are those of the decoder alone.",
        ),
    ),
    (
        "Slots and sessions",
        (
            "The slot that got the rows is the one that serves.",
            "Warm is what is resident in the process that is alive now.",
            "Two requests never use one slot at the same time.",
        ),
    ),
    (
        "Streams",
        (
            "What the decoder did not finish is never presented as finished.",
            "How the bytes were cut up on the way changes nothing for the client.",
            "What the router does not understand ends no stream that the decoder completes.",
            "No status and no byte goes out before an answer has begun.",
        ),
    ),
    (
        "Cancellation",
        (
            "When the client leaves, in any phase, its work stops within a second.",
            "Leaving inside the handoff strands nothing on either side.",
        ),
    ),
    (
        "Health and life",
        (
            "What single requests are answered says nothing about a decoder's health.",
            "Work, and not a health URL, makes a decoder eligible.",
            "However the router ends, nothing outlives it, and the next one takes over nothing.",
            "Draining and replacing end every request openly.",
            "Who comes in a gap is served or refused inside the deadline.",
        ),
    ),
    (
        "Parity, configuration, security",
        (
            "Greedy answers are those of the decoder alone.",
            "What a decoder lacks shows before the first request.",
            "Zero and absent have one meaning each; contradictions are refused at start.",
            "No endpoint leads to a decoder past the policy.",
            "Nothing that a client sends chooses a decoder, slot or file.",
            "A state of any allowed size gets through.",
        ),
    ),
)

HEAD = """# What the router holds, and what shows it

Written by `python -m gates.invariants` from results of `kvgate prove`. Each line is a check of a scenario in
`scenarios/router_invariants/` or `scenarios/router_reports/`, and the mutants of `gates/mutants/` that were seen to
turn it red: each puts one fault back into the router or a fake.
"""

CheckId = tuple[str, str, str]


def invariants() -> tuple[str, ...]:
    return tuple(sentence for _, sentences in GROUPS for sentence in sentences)


def scenarios_of(number: int, scenarios: list[Scenario]) -> list[Scenario]:
    return [each for each in scenarios if each.name.startswith(f"i{number:02}_")]


def reds(results: list[Mapping[str, object]]) -> dict[CheckId, set[str]]:
    """The mutants that each check was red on, of those that are there and meant for its scenario."""
    mutants = {mutant.name: mutant for mutant in find_mutants(ROOT / "gates" / "mutants")}
    found: dict[CheckId, set[str]] = {}
    for result in results:
        checks = result["checks"]
        assert isinstance(checks, list)
        for check in checks:
            mutant = mutants.get(check["build"])
            meant = mutant is not None and mutant.is_meant_for(check["suite"], check["scenario"])
            if check["status"] == "FAIL" and meant:
                found.setdefault((check["suite"], check["scenario"], check["check"]), set()).add(check["build"])
    return found


def page(found: Mapping[CheckId, set[str]]) -> str:
    """The whole page. KeyError: a check that no mutant was seen to turn red."""
    scenarios = list(select(["router_invariants"]))
    lines, number = [HEAD], 0
    for title, sentences in GROUPS:
        lines.append(f"## {title}\n")
        for sentence in sentences:
            number += 1
            lines += [f"### {number}. {sentence}\n", *_table(scenarios_of(number, scenarios), found), ""]
    lines += ["## Reports from the field\n", *_table(list(select(["router_reports"])), found), ""]
    lines += [
        "Where each report that asks something of a router is replayed:\n",
        "| report | replayed by |",
        "|---|---|",
    ]
    lines += [
        f"| {name} | {report.ref} | {', '.join(f'`{place}`' for place in report.places)} |"
        for name, report in REPORTS.items()
    ]
    return "\n".join(lines) + "\n"


def _table(scenarios: list[Scenario], found: Mapping[CheckId, set[str]]) -> Iterator[str]:
    yield "| scenario | check | red on |"
    yield "|---|---|---|"
    for scenario in scenarios:
        for named in scenario.checks:
            mutants = sorted(found[scenario.suite, scenario.name, named.name])
            yield f"| `{scenario.name}` | {named.name} | {', '.join(f'`{name}`' for name in mutants)} |"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m gates.invariants", description=__doc__.splitlines()[0])
    parser.add_argument("proofs", nargs="+", type=Path, metavar="PROOF.json")
    arguments = parser.parse_args()
    PAGE.write_text(page(reds([json.loads(path.read_text("utf-8")) for path in arguments.proofs])), "utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
