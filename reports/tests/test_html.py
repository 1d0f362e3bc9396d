"""The page: whole by itself, safe against hostile text, and with every check and event in it."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from harness.result import BuildInfo, RunResult, TimelineEvent, Verdict
from reports import html
from reports.html import timeline
from reports.html.scale import scale_of
from reports.tests import made

_VOID = {"meta", "br", "rect", "line"}
MS = 1_000_000


class Page(HTMLParser):
    """Collects elements and text, and fails on elements that are not closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


@pytest.fixture(params=[made.run(partial=True), made.comparison()], ids=["run", "ab"])
def result(request) -> RunResult:
    return request.param


def test_every_check_scenario_and_build_is_on_the_page(result):
    text = Page(html.render(result)).text
    for check in result.checks:
        assert check.check in text
    for build in result.builds:
        assert " ".join(build.command) in text
    for scenario in result.scenarios:
        assert all(note in text for note in scenario.notes)
    assert str(result.verdict) in text


def test_nothing_is_loaded_and_nothing_runs(result):
    page = Page(html.render(result))
    assert not {tag for tag, _ in page.elements} & {"script", "link", "img", "iframe", "object"}
    assert not [name for _, attributes in page.elements for name in attributes if name.startswith("on")]
    assert not re.search(r"url\(|@import|https?://", html.render(result))
    policy = next(a["content"] for tag, a in page.elements if a.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    assert policy.startswith("default-src 'none'")


def test_hostile_text_is_text():
    page = Page(html.render(made.run()))
    assert "<script>alert(1)</script>" in page.text
    assert "\\x1b[31m" in page.text
    assert "\x1b" not in page.text


def test_the_page_fits_light_and_dark_and_a_phone():
    text = html.render(made.run())
    assert 'content="width=device-width, initial-scale=1"' in text
    assert "prefers-color-scheme: dark" in text


def test_a_partial_result_says_so():
    assert "This result is partial" in html.render(made.run(partial=True))
    assert "This result is partial" not in html.render(made.run())


def test_evidence_is_linked_below_the_run_folder_only():
    (scenario,) = made.run().scenarios
    inside = replace(scenario, folder="/tmp/kvgate/run-1/router/a b")
    assert 'href="router/a%20b/"' in html.render(replace(made.run(), scenarios=(inside,)))
    outside = replace(scenario, folder="/tmp/kvgate/run-10/router")
    assert "href" not in html.render(replace(made.run(), scenarios=(outside,)))


def test_a_result_without_scenarios_or_fingerprint_is_a_page():
    empty = RunResult("run", Verdict.ERROR, (BuildInfo("router", ("x",)),), ())
    text = Page(html.render(empty)).text
    assert "No scenario was run" in text
    assert "no fingerprint was taken" in text


def test_a_fingerprint_is_shown_in_few_lines():
    fingerprint = {
        "digest": "ab",
        "modules": {"/src/router": {"files": 3, "sha256": "cd"}},
        "trees": [{"root": "/src", "commit": "0123456789abcdef", "dirty": True}],
        "built_from": {"ref": "v1", "build_s": 2.5},
        "libraries": [{"path": "/lib/libc.so.6", "sha256": "ef" * 32}],
        "build_id": None,
    }
    build = BuildInfo("router", ("x",), fingerprint)
    text = Page(html.render(RunResult("run", Verdict.OK, (build,), ()))).text
    for shown in (
        "/src/router (3 files)",
        "/src at 0123456789ab with changes",
        "ref: v1",
        "/lib/libc.so.6 efefefefefef",
    ):
        assert shown in text


def test_the_timeline_has_a_lane_for_each_process_and_every_event_twice():
    drawn = Page(timeline.render(made.timeline()))
    lanes = [a for tag, a in drawn.elements if tag == "text" and a.get("class") == "lane"]
    assert len(lanes) == 4
    listed = [tag for tag, _ in drawn.elements if tag == "li"]
    marks = [tag for tag, _ in drawn.elements if tag == "g"]
    assert len(listed) == len(marks) == len(made.timeline())
    assert "took 40 ms" in drawn.text


def test_no_events_no_timeline():
    assert timeline.render(()) == ""


def lanes(*events: TimelineEvent) -> list[timeline.Lane]:
    ordered = sorted(events, key=lambda event: event.t_ns)
    return timeline.lanes_of(ordered, scale_of(t for e in ordered for t in (e.t_ns, e.end_ns or e.t_ns)))


def test_lanes_stand_in_the_order_of_a_request():
    found = lanes(*[TimelineEvent(name, 1, "x") for name in ("zebra", "decoder", "client", "provider", "router")])
    assert [lane.name for lane in found] == ["client", "router", "provider", "decoder", "zebra"]


def test_what_overlaps_gets_a_row_of_its_own_and_what_follows_does_not():
    (lane,) = lanes(
        TimelineEvent("decoder", 0, "a", 50 * MS),
        TimelineEvent("decoder", 10 * MS, "b", 60 * MS),
        TimelineEvent("decoder", 55 * MS, "c", 100 * MS),
    )
    assert [mark.row for mark in lane.marks] == [0, 1, 0]
    assert lane.marks[0].room == lane.marks[2].start


def test_marks_keep_room_for_their_numbers():
    (lane,) = lanes(TimelineEvent("r", 0, "a"), TimelineEvent("r", MS, "b"), TimelineEvent("r", 1000 * MS, "c"))
    assert [mark.row for mark in lane.marks] == [0, 1, 0]


def test_an_unbroken_scale_is_linear():
    scale = scale_of([0, 30 * MS, 100 * MS])
    assert scale.breaks == ()
    assert [scale.at(t * MS) for t in (-5, 0, 30, 65, 100, 200)] == pytest.approx([0, 0, 0.3, 0.65, 1, 1])


def test_a_long_silence_is_drawn_short_and_marked():
    scale = scale_of([0, 10 * MS, 20 * MS, 30_000 * MS])
    (silence,) = scale.breaks
    assert (silence.start_ns, silence.end_ns) == (20 * MS, 30_000 * MS)
    assert scale.at(20 * MS) == pytest.approx(2 / 3)
    assert [ns for _, ns in scale.ticks()] == [0, 20 * MS, 30_000 * MS]


def test_a_silence_below_a_second_is_drawn_true():
    assert scale_of([0, MS, 900 * MS]).breaks == ()


def test_ticks_are_round_and_few():
    places = scale_of([0, 119 * MS]).ticks()
    assert [ns // MS for _, ns in places] == [0, 20, 40, 60, 80, 100]
    assert scale_of([5]).ticks() == []


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "0 ms"),
        (4_567, "0.00457 ms"),
        (1_500_000, "1.5 ms"),
        (20 * MS, "20 ms"),
        (1234 * MS, "1234 ms"),
        (30_100 * MS, "30.1 s"),
    ],
)
def test_times_are_readable(ns, text):
    assert timeline.time_text(ns) == text
