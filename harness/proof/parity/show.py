"""A comparison for people and programs: a table, margins over positions as lines of blocks, a plot, JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from xml.sax.saxutils import escape

from tabulate import tabulate

from harness.proof.parity.compare import Compared, Outcome
from harness.proof.parity.trace import Choice

_BLOCKS = "▁▂▃▄▅▆▇█"
_TOP = 2.0
"""Margins from here on are drawn full: far from any tie."""

_PANEL, _LEFT, _WIDTH, _GAP = 90, 60, 760, 34


def text(outcome: Outcome) -> str:
    rows = [_row(number, each) for number, each in enumerate(outcome.compared, 1)]
    heads = ("#", "tokens", "reading", "same for", "margins there", "shift", "cold and warm", "what")
    lines = [
        f"a: {_server(outcome, 0)}",
        f"b: {_server(outcome, 1)}",
        f"model: {outcome.job.model.name}, {outcome.job.head.architecture},"
        f" {'quantised' if outcome.job.head.quantised else 'floats'}; noise floor {outcome.floor:.4f}",
        "",
        tabulate(rows, headers=heads, disable_numparse=True, maxcolwidths=[None] * 7 + [48]),
        "",
        f"a's margins over positions: {_BLOCKS[0]} near a tie, {_BLOCKS[-1]} {_TOP:g} and more, x the first difference",
    ]
    lines += [f"{number:3} {_blocks(each)}" for number, each in enumerate(outcome.compared, 1)]
    return "\n".join([*lines, "", f"{outcome.reading}"])


def _server(outcome: Outcome, which: int) -> str:
    server = outcome.started[which]
    notes = f" ({'; '.join(server.notes)})" if server.notes else ""
    return f"{server.name}, version {server.version}{notes}"


def _row(number: int, each: Compared) -> tuple[str, ...]:
    found = each.finding
    margins = "" if found.at is None else " / ".join("?" if m is None else f"{m:.4f}" for m in found.margins)
    controls = " / ".join(str(control.reading) for control in each.controls)
    return (
        str(number),
        str(len(each.prompt)),
        str(found.reading),
        str(found.positions),
        margins,
        f"{found.shift:.4f}",
        controls,
        found.reason,
    )


def _blocks(each: Compared) -> str:
    drawn = [_block(choice) for choice in each.asked[0].cold.choices]
    if each.finding.at is not None:
        drawn[each.finding.at : each.finding.at + 1] = ["x"]
    return "".join(drawn)


def _block(choice: Choice) -> str:
    margin = min(_TOP, max(0.0, choice.margin or 0.0))
    return _BLOCKS[min(len(_BLOCKS) - 1, int(margin / _TOP * len(_BLOCKS)))]


def plot(outcome: Outcome) -> str:
    """An SVG with one panel a prompt: both builds' margins over positions, and where they part."""
    panels = [_panel(index, each) for index, each in enumerate(outcome.compared)]
    height = _GAP + len(panels) * (_PANEL + _GAP)
    title = f"top-1 minus top-2, {outcome.started[0].name} (blue) and {outcome.started[1].name} (orange)"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_LEFT + _WIDTH + 20}" height="{height}"'
        f' font-family="sans-serif" font-size="12">\n<rect width="100%" height="100%" fill="white"/>\n'
        f'<text x="{_LEFT}" y="18">{escape(title)}</text>\n' + "\n".join(panels) + "\n</svg>\n"
    )


def _panel(index: int, each: Compared) -> str:
    top = _GAP + index * (_PANEL + _GAP)
    lines = [
        _line(asked.cold.choices, top, colour) for asked, colour in zip(each.asked, ("#2166ac", "#e08214"), strict=True)
    ]
    if each.finding.at is not None:
        x = _x(each.finding.at, len(each.asked[0].cold.choices))
        lines.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{top + _PANEL}" stroke="#b2182b"/>')
    return (
        f'<rect x="{_LEFT}" y="{top}" width="{_WIDTH}" height="{_PANEL}" fill="none" stroke="#999"/>\n'
        f'<text x="{_LEFT}" y="{top + _PANEL + 14}">{index + 1}: {escape(str(each.finding.reading))}, '
        f"{escape(each.finding.reason)}</text>\n"
        f'<text x="{_LEFT - 6}" y="{top + 10}" text-anchor="end">{_TOP:g}</text>\n'
        f'<text x="{_LEFT - 6}" y="{top + _PANEL}" text-anchor="end">0</text>\n' + "\n".join(lines)
    )


def _line(choices: Sequence[Choice], top: int, colour: str) -> str:
    points = " ".join(
        f"{_x(i, len(choices)):.1f},{top + _PANEL * (1 - min(_TOP, choice.margin or 0.0) / _TOP):.1f}"
        for i, choice in enumerate(choices)
    )
    return f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.5"/>'


def _x(index: int, n: int) -> float:
    return _LEFT + _WIDTH * index / max(1, n - 1)


def as_json(outcome: Outcome) -> dict[str, Any]:
    return {
        "schema": 1,
        "reading": str(outcome.reading),
        "noise_floor": outcome.floor,
        "model": {
            "path": str(outcome.job.model),
            "architecture": outcome.job.head.architecture,
            "quantised": outcome.job.head.quantised,
        },
        "flags": list(outcome.job.all_flags),
        "builds": {
            name: {"name": server.name, "version": server.version, "build": server.build, "notes": list(server.notes)}
            for name, server in zip(("a", "b"), outcome.started, strict=True)
        },
        "prompts": [_prompt_json(each) for each in outcome.compared],
    }


def _prompt_json(each: Compared) -> dict[str, Any]:
    found = each.finding
    return {
        "prompt": list(each.prompt),
        "reading": str(found.reading),
        "reason": found.reason,
        "positions": found.positions,
        "first_difference": found.at,
        "margins_there": list(found.margins),
        "shift": found.shift,
        "controls": [str(control.reading) for control in each.controls],
        "ids": [list(asked.cold.ids) for asked in each.asked],
        "margins": [[choice.margin for choice in asked.cold.choices] for asked in each.asked],
    }
