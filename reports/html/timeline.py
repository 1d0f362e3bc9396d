"""The events of one scenario as an inline SVG with a lane for each process, and as a list that says it in words.

Places are percentages, so the drawing takes any width while its text keeps its size; a bar's text is cut at
the bar's end, and the list below carries it whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from harness.result import TimelineEvent
from reports.html.markup import escaped
from reports.html.scale import Scale, scale_of

LANES = ("client", "router", "provider", "decoder", "engine")
_NAME = 18
_ROW = 21
_BAR = 18
_LANE_GAP = 6
_AXIS = 24
_LAST_TICK = 0.93
# Between the texts of two ticks, as a part of the axis; one that is anchored at its end needs twice as much.
_LEAST_GAP = 0.12
# The least width a mark needs for its number, as a part of the axis; about 30 pixels on a narrow phone.
_LEAST_WIDTH = 0.085


@dataclass(frozen=True, slots=True)
class Mark:
    """An event on its lane: where it is drawn, in which row of the lane, and its number in the list.

    `room` is where the next mark of the row begins: until there its text may run.
    """

    number: int
    event: TimelineEvent
    start: float
    end: float
    row: int
    room: float = 1 / (1 - _LEAST_WIDTH)


@dataclass(frozen=True, slots=True)
class Lane:
    name: str
    marks: tuple[Mark, ...]

    @property
    def rows(self) -> int:
        return max(mark.row for mark in self.marks) + 1


def render(events: Sequence[TimelineEvent]) -> str:
    """The drawing and the list; an empty text without events."""
    if not events:
        return ""
    ordered = sorted(events, key=lambda event: (event.t_ns, event.end_ns or event.t_ns))
    scale = scale_of(moment for event in ordered for moment in (event.t_ns, event.end_ns or event.t_ns))
    return "".join([*_drawing(lanes_of(ordered, scale), scale), *_list(ordered)])


def lanes_of(ordered: Sequence[TimelineEvent], scale: Scale) -> list[Lane]:
    """Known lanes in their fixed order, then others as they come; marks that would overlap get rows of their own."""
    names = dict.fromkeys([name for name in LANES if any(e.lane == name for e in ordered)])
    names |= dict.fromkeys(event.lane for event in ordered)
    numbered = list(enumerate(ordered, 1))
    return [Lane(name, tuple(_placed(((n, e) for n, e in numbered if e.lane == name), scale))) for name in names]


def _placed(numbered: Iterable[tuple[int, TimelineEvent]], scale: Scale) -> list[Mark]:
    last_in_row: list[int] = []
    marks: list[Mark] = []
    for number, event in numbered:
        start = scale.at(event.t_ns)
        end = scale.at(event.end_ns) if event.end_ns is not None else start
        free = (row for row, last in enumerate(last_in_row) if _occupied(marks[last]) <= start)
        row = next(free, len(last_in_row))
        if row < len(last_in_row):
            marks[last_in_row[row]] = replace(marks[last_in_row[row]], room=start)
        last_in_row[row:] = [len(marks), *last_in_row[row + 1 :]]
        marks.append(Mark(number, event, start, end, row))
    return marks


def _occupied(mark: Mark) -> float:
    return max(mark.end, mark.start + _LEAST_WIDTH)


def _drawing(lanes: Sequence[Lane], scale: Scale) -> Iterator[str]:
    height = sum(_height(lane) for lane in lanes) + _AXIS
    said = escaped(f"timeline of {', '.join(lane.name for lane in lanes)}; the list below says the same in words")
    yield f'<svg class="timeline" width="100%" height="{height}" role="img" aria-label="{said}">'
    yield from _axis(scale, height)
    y = 0
    for lane in lanes:
        if y:
            yield f'<line class="rule" x1="0" x2="100%" y1="{y}" y2="{y}"/>'
        yield f'<text class="lane" x="0" y="{y + _NAME - 4}">{escaped(lane.name)}</text>'
        for mark in lane.marks:
            yield _mark(mark, y + _NAME + mark.row * _ROW)
        y += _height(lane)
    yield "</svg>"


def _height(lane: Lane) -> int:
    return _NAME + lane.rows * _ROW + _LANE_GAP


def _percent(place: float) -> str:
    """A place on the axis as a part of the drawing, which keeps room for the number of the last mark."""
    return f"{place * (1 - _LEAST_WIDTH) * 100:.3f}%"


def _mark(mark: Mark, y: int) -> str:
    """A bar, or a stroke for what takes no time; its number, and as much of its text as the row has room for."""
    event = mark.event
    kind = LANES.index(event.lane) if event.lane in LANES else len(LANES)
    x = _percent(mark.start)
    title = f"<title>{escaped(sentence(event))}</title>"
    bar = f'<rect x="{x}" y="{y}" width="3" height="{_BAR}"/>'
    if event.end_ns is not None:
        bar += f'<rect x="{x}" y="{y}" width="{_percent(mark.end - mark.start)}" height="{_BAR}"/>'
    number = f'<text class="number" x="{x}" dx="5" y="{y + 13}">{mark.number}</text>'
    text = f'<text x="{9 + 8 * len(str(mark.number))}" y="13">{escaped(event.what)}</text>'
    clip = f'<svg x="{x}" y="{y}" width="{_percent(mark.room - mark.start)}" height="{_BAR}">{text}</svg>'
    return f'<g class="lane-{kind}">{title}{bar}{number}{clip}</g>'


def _axis(scale: Scale, height: int) -> Iterator[str]:
    for silence in scale.breaks:
        x, width = _percent(silence.start), _percent(silence.end - silence.start)
        yield f'<rect class="break" x="{x}" y="0" width="{width}" height="{height - _AXIS}"/>'
    before = -1.0
    for place, ns in scale.ticks():
        x, at_the_end = _percent(place), place > _LAST_TICK
        yield f'<line class="tick" x1="{x}" x2="{x}" y1="0" y2="{height - _AXIS + 4}"/>'
        if place - before >= (_LEAST_GAP * 2 if at_the_end else _LEAST_GAP):
            side = ' text-anchor="end"' if at_the_end else ""
            yield f'<text class="time" x="{x}" y="{height - 5}"{side}>{time_text(ns)}</text>'
            before = place


def _list(ordered: Sequence[TimelineEvent]) -> Iterator[str]:
    first = ordered[0].t_ns
    yield '<ol class="events">'
    for event in ordered:
        took = "" if event.end_ns is None else f", took {time_text(event.end_ns - event.t_ns)}"
        detail = f' <span class="detail">{escaped(event.detail)}</span>' if event.detail else ""
        when = f'<span class="when">{time_text(event.t_ns - first)}{took}</span>'
        yield f"<li>{when} <b>{escaped(event.lane)}</b> {escaped(event.what)}{detail}</li>"
    yield "</ol>"


def sentence(event: TimelineEvent) -> str:
    return f"{event.lane}: {event.what}" + (f" ({event.detail})" if event.detail else "")


def time_text(ns: int) -> str:
    """Milliseconds with three digits, seconds from ten on."""
    ms = ns / 1e6
    return f"{ms / 1000:.1f} s" if ms >= 10_000 else f"{ms:.0f} ms" if ms >= 1000 else f"{ms:.3g} ms"
