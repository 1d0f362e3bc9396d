"""`kvgate conform`: whether decoders speak llama-server's dialect, clause by clause.

--decoder may be repeated; several decoders make one table. Each is `fake` (with flags of its own after it, such as
`--fake-version b11549`), a real server's name, a path or command that takes llama-server's flags, or the URL of one
that runs already with the flags that are then named.

exit status: 0 every clause holds, or is a known difference of that build; 1 one does not, or a known difference is
gone; 2 usage; 3 a decoder cannot be had, or a clause could not be observed.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from harness.conform import differences, table
from harness.conform.clause import Clause, Outcome
from harness.conform.clauses import CLAUSES
from harness.conform.decoder import find_decoder
from harness.conform.judge import Judged, judge
from harness.errors import UsageError
from harness.models import model_file
from harness.near import did_you_mean
from harness.proof.run_folder import new_run_folder, write_whole

MODEL = "tiny-llama"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = __doc__
    parser.add_argument("--decoder", action="append", metavar="CMD|URL|NAME", help="what is asked (may be repeated)")
    parser.add_argument("--model", default=MODEL, metavar="NAME", help="the real servers' model (%(default)s)")
    parser.add_argument("--section", action="append", metavar="N", help="the clauses of this section alone")
    parser.add_argument("--clause", action="append", metavar="TEXT", help="the clauses whose sentence has this text")
    parser.add_argument("--all", action="store_true", help="show the clauses that hold everywhere too")
    parser.add_argument("--list", action="store_true", help="list the clauses, and ask nobody")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what was found as JSON")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="write the page with every clause")
    parser.add_argument("--runs", type=Path, metavar="DIR", help="where the folder with the decoders' logs is made")


def run(arguments: argparse.Namespace) -> int:
    clauses = selected(arguments.section, arguments.clause)
    if arguments.list:
        print("\n".join(f"{each.section:4} {each.says}" for each in clauses), f"\n{len(clauses)} clauses")
        return 0
    if not arguments.decoder:
        raise UsageError("there is no decoder to ask; say --decoder fake, or a server's name, command or URL")
    specs = arguments.decoder
    model = str(model_file(arguments.model, download=True)) if any(map(_takes_a_model, specs)) else ""
    listed = differences.read()
    folder = new_run_folder(arguments.runs, "conform")
    judged = judge([find_decoder(spec, model) for spec in specs], folder, clauses)
    print(table.text(judged, listed, everything=arguments.all))
    print(f"folder: {folder}")
    if arguments.json is not None:
        _write(arguments.json, json.dumps(table.as_json(judged, listed), indent=1, ensure_ascii=False) + "\n")
    if arguments.write is not None:
        _write(arguments.write, table.page(judged, listed))
    return status(judged, listed)


def _takes_a_model(spec: str) -> bool:
    return not spec.startswith(("http://", "https://")) and spec.split()[:1] != ["fake"]


def selected(sections: list[str] | None, texts: list[str] | None) -> tuple[Clause, ...]:
    """The clauses of these sections that have one of these texts. UsageError where there are none."""
    known = dict.fromkeys(each.section for each in CLAUSES)
    for section in sections or ():
        if section not in known and not any(each.startswith(f"{section}.") for each in known):
            raise UsageError(f"--section: there is no section {section!r}{did_you_mean(section, known)}")
    found = tuple(
        each
        for each in CLAUSES
        if (not sections or any(each.section == one or each.section.startswith(f"{one}.") for one in sections))
        and (not texts or any(one.lower() in each.says.lower() for one in texts))
    )
    if not found:
        raise UsageError(f"no clause says {' or '.join(map(repr, texts or ()))}")
    return found


def status(judged: list[Judged], listed: tuple[differences.Difference, ...]) -> int:
    """The exit status of all of them."""
    worst = 0
    for each in judged:
        known = differences.known(listed, each.decoder.build)
        for verdict in each.verdicts:
            if verdict.outcome is Outcome.ERROR:
                return 3
            broken = verdict.outcome is Outcome.BROKEN
            if broken != (verdict.clause.says in known) and verdict.outcome is not Outcome.NOT_SEEN:
                worst = 1
    return worst


def _write(path: Path, text: str) -> None:
    try:
        write_whole(path, text)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from None
