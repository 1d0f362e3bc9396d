"""What was judged, as a table for a terminal, as JSON, and as the page that lists every clause."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tabulate import tabulate

from harness.conform.clause import Clause, Outcome
from harness.conform.differences import Difference, known
from harness.conform.judge import Judged, Verdict

_MARKS = {Outcome.HOLDS: "holds", Outcome.BROKEN: "BROKEN", Outcome.NOT_SEEN: "-", Outcome.ERROR: "ERROR"}
_SENTENCE = 100


def text(judged: Sequence[Judged], differences: Iterable[Difference], *, everything: bool) -> str:
    """The clauses that do not hold everywhere, or all of them; what was seen; and the share that holds."""
    lists = [known(differences, each.decoder.build) for each in judged]
    rows, notes = [], []
    for number, verdicts in enumerate(zip(*(each.verdicts for each in judged), strict=True), 1):
        clause = verdicts[0].clause
        if everything or any(verdict.outcome is not Outcome.HOLDS for verdict in verdicts):
            marks = [_mark(verdict, listed) for verdict, listed in zip(verdicts, lists, strict=True)]
            rows.append((number, clause.section, _short(clause.says), *marks))
        for each, verdict, listed in zip(judged, verdicts, lists, strict=True):
            if verdict.outcome in (Outcome.BROKEN, Outcome.ERROR):
                notes.append(f"{number}  {each.decoder.name}: {verdict.detail}{_reason(clause, listed)}")
    head = ("", "section", "clause", *(each.decoder.name for each in judged))
    table = tabulate(rows, head, tablefmt="simple", disable_numparse=True) + "\n\n" if rows else ""
    return table + "".join(f"{note}\n" for note in notes) + "\n" * bool(notes) + shares(judged)


def _short(says: str) -> str:
    return says if len(says) <= _SENTENCE else f"{says[: _SENTENCE - 1]}…"


def _mark(verdict: Verdict, listed: Mapping[str, Difference]) -> str:
    mark = _MARKS[verdict.outcome]
    return f"{mark.lower()} (listed)" if verdict.outcome is Outcome.BROKEN and verdict.clause.says in listed else mark


def _reason(clause: Clause, listed: Mapping[str, Difference]) -> str:
    return f" (listed: {listed[clause.says].reason})" if clause.says in listed else ""


def shares(judged: Sequence[Judged]) -> str:
    """A line for each decoder: how many of the clauses that could be looked at hold."""
    lines = []
    for each in judged:
        holds, seen = each.count(Outcome.HOLDS), each.seen
        share = f"{100 * holds / seen:.1f}%" if seen else "none"
        rest = len(each.verdicts) - seen
        more = f", {rest} could not be looked at" if rest else ""
        lines.append(f"{each.decoder.name} ({each.decoder.build}): {holds} of {seen} clauses hold, {share}{more}")
    return "\n".join(lines)


def as_json(judged: Sequence[Judged], differences: Iterable[Difference]) -> dict[str, Any]:
    """`{"schema": 1, "decoders": [...], "clauses": [{section, clause, decoder, outcome, detail, listed}]}`."""
    found = []
    for each in judged:
        listed = known(differences, each.decoder.build)
        for verdict in each.verdicts:
            entry = {"section": verdict.clause.section, "clause": verdict.clause.says, "decoder": each.decoder.name}
            more = {"outcome": verdict.outcome.value, "detail": verdict.detail}
            found.append({**entry, **more, "listed": verdict.clause.says in listed})
    decoders = [
        {"name": each.decoder.name, "build": each.decoder.build, "holds": each.count(Outcome.HOLDS), "seen": each.seen}
        for each in judged
    ]
    return {"schema": 1, "decoders": decoders, "clauses": found}


def page(judged: Sequence[Judged], differences: Sequence[Difference]) -> str:
    """The whole of docs/conformance.md."""
    lines = [*_INTRODUCTION, *(f"- {line}" for line in shares(judged).splitlines()), ""]
    lines += ["## Known differences", "", "| build | clause | why |", "|---|---|---|"]
    lines += [f"| {each.build} | {_cell(each.clause)} | {_cell(each.reason)} |" for each in differences]
    names = [each.decoder.name for each in judged]
    lines += ["", "## Clauses", "", f"| section | clause | {' | '.join(names)} |", "|---" * (2 + len(names)) + "|"]
    for verdicts in zip(*(each.verdicts for each in judged), strict=True):
        clause = verdicts[0].clause
        marks = " | ".join(_MARKS[verdict.outcome] for verdict in verdicts)
        lines.append(f"| {clause.section} | {_cell(clause.says)} | {marks} |")
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", "\\n")


_INTRODUCTION = (
    "# Conformance",
    "",
    "Written by `kvgate conform --write docs/conformance.md`. A clause is a sentence that is true of llama-server,",
    "with a probe that shows it over the wire. `-`: it could not be looked at on that decoder. The fake is trusted as",
    "far as this table: every clause that a real server holds, it holds.",
    "",
)
