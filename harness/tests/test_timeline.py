"""The timeline of a record: a lane for everyone, each event where its own clock puts it."""

from dataclasses import replace
from pathlib import Path

from harness.record import Log
from harness.tests import records
from harness.timeline import timeline


def lanes(record):
    found: dict[str, list[str]] = {}
    for event in timeline(record, "router"):
        found.setdefault(event.lane, []).append(event.what)
    return found


def said(*stamped):
    lines, stamps = zip(*stamped, strict=True)
    return replace(records.GOOD, logs={"build": Log(Path("build.log"), lines, stamps=stamps)})


def test_client_decoder_and_provider_have_lanes():
    found = lanes(records.GOOD)
    assert found["client"] == ["request 1", "first token"]
    assert found["decoder"] == ["share", "adopt", "completion"]


def test_what_the_build_says_is_its_lane_from_the_first_request_on():
    record = said(("listening", 999_999_999), ("hybrid: one", 1_000_000_001), ("hybrid: two", 1_020_000_000))
    assert lanes(record)["router"] == ["hybrid: one", "hybrid: two"]


def test_a_build_that_prints_on_and_on_is_drawn_as_far_as_it_can_be_read():
    record = said(*[(f"line {number}" * 100, 1_000_000_001 + number) for number in range(1000)])
    drawn = lanes(record)["router"]
    assert len(drawn) == 60
    assert max(map(len, drawn)) == 300


def test_events_are_in_the_order_of_the_clock():
    times = [event.t_ns for event in timeline(said(("hybrid: one", 1_000_000_003)), "router")]
    assert times == sorted(times)


def test_lines_without_a_time_are_not_placed():
    assert "router" not in lanes(records.GOOD)
