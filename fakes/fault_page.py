"""Writes the fault catalogue as a page: `python -m fakes.fault_page > docs/faults.md`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from fakes.catalogue import catalogue
from fakes.fault import Fault
from fakes.fault_reports import ASKED, REPORTS, Report
from fakes.told import family, told

_HEAD = """# What the fakes can do wrong

Generated from `fakes/faults/` by `python -m fakes.fault_page`; a test holds this page against it. At a shell
`kvgate faults` lists the same, and `kvgate faults --explain NAME` says all of one.

## How a fault is set

| where | how |
|---|---|
| a fake's command line | `--fault NAME[=VALUE][,LIMIT...]`, as often as wanted |
| its environment | `FAKE_KVSHARE_REFUSE=1`, `FAKE_KVSHARE_SHORT=2`; or all in `FAKE_FAULTS`, with `;` between them |
| a scenario | `faults: ['NAME=VALUE,LIMIT']` of the decoder, the engine, the prefill server or the provider |
| while it runs | `POST /faults {"set": ["NAME=VALUE,LIMIT"], "clear": ["NAME"]}` on its control socket |

Every firing stands in the journal (`fault`), and so does one that changed nothing (`fault_no_effect`); the journal's
end record says of each fault how often its point was reached and how often it fired. A scenario whose fault was reached
and did not fire is an ERROR.

## Limits

All that is given has to hold. A provider is another process each time; its n-th time is counted over all that share a
journal (in `JOURNAL.turns`), where they have one.

| limit | the fault fires |
|---|---|
| `only=N` | the N-th time its point is reached, and no other |
| `every=N` | every N-th time |
| `first=N` | the first N times, then all is well |
| `p=P`, `seed=S` | with that probability, drawn from that seed; a scenario's own seed where none is given |
| `op=O` | only for an operation: `completion`, a slot action, the last word of a path (`health`), or an engine's |
| `path=P` | only for a path; a `*` at its end stands for whatever follows |
| `slot=N` | only for a slot, that of path or body, or the one that serves |
| `stream=yes`, `stream=no` | only for streams, or only for whole answers |
| `text=T` | only where the prompt has that text, tokens turned back into it |
| `scope=W` | only for requests whose header `X-Fake-Scope` is that word, or whose prompt has it |

What a step has not, as a share has no text, is not reached. Two tests share a fake by a scope: a call of the control
socket with `X-Fake-Scope` sets, clears, holds, counts and reads what is its own and nothing else.
"""

_ABOUT = {"engine": "\nF01 to F65 are the numbers that the text of the Hydra protocol gives its faults.\n"}


def page() -> str:
    """The whole page."""
    faults = list(catalogue().values())
    parts = [_HEAD]
    for who in ("decoder", "provider", "engine"):
        own = [fault for fault in faults if fault.point.who == who]
        parts.append(f"## Faults of the {who} ({len(own)})\n{_ABOUT.get(who, '')}")
        for (name, about), members in groupby(sorted(own, key=lambda one: (family(one), one.name)), key=family):
            parts.append(f"### {who}: {name.removeprefix('engine_').replace('_', ' ')}\n\n{about}\n")
            parts += [_entry(fault) for fault in members]
    parts += [_by_report(faults), _by_mode()]
    return "\n".join(parts)


def _entry(fault: Fault) -> str:
    words = told(fault)
    value = "" if fault.value is None else f"; value: {fault.value.means}"
    if fault.value is not None and fault.value.default is not None:
        value += f" ({fault.value.default})"
    lines = [f"**`{fault.name}`** at `{fault.point.value}`{value}\n", f"- {words.wire}"]
    lines += [f"- {line}" for line in (words.claim, words.router) if line]
    if fault.reports:
        lines.append(f"- Stands for {', '.join(link(ref) for ref in fault.reports)}.")
    return "\n".join(lines) + "\n"


def link(ref: str) -> str:
    """A report as a link: `owner/repo#N`, or an address as it is."""
    if ref.startswith("https://"):
        return f"[{ref.removeprefix('https://').rpartition('/')[2]}]({ref})"
    repository, _, number = ref.partition("#")
    return f"[{ref}](https://github.com/{repository}/issues/{number})"


def faults_of_report(report: Report, faults: Iterable[Fault]) -> tuple[str, ...]:
    """Every fault that stands for it."""
    return tuple(fault.name for fault in faults if report.ref in fault.reports)


def _by_report(faults: Sequence[Fault]) -> str:
    rows = [
        (
            link(report.ref),
            _who(report),
            ", ".join(f"`{name}`" for name in faults_of_report(report, faults)),
            report.why,
        )
        for report in REPORTS
    ]
    return "## Report to fault\n\n" + _table(("report", "asks for a mode of the", "faults", "note"), rows)


def _who(report: Report) -> str:
    asked = (("decoder", report.asks_decoder), ("provider", report.asks_provider))
    return " and ".join(who for who, is_asked in asked if is_asked)


def _by_mode() -> str:
    rows = [
        (asked.who, f"`{asked.mode}`", ", ".join(f"`{setting}`" for setting in asked.settings), asked.note)
        for asked in ASKED
    ]
    return "## What the reports ask a fake for, and what plays it\n\n" + _table(
        ("fake", "asked for", "played by", "note"), rows
    )


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines) + "\n"


if __name__ == "__main__":
    print(page(), end="")
