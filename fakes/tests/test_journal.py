"""The journal: whole lines, in order, from several writers."""

import itertools
import json
import os
import re
from pathlib import Path

import fakes
from fakes.journal import EVENTS, Journal
from fakes.tests.running import REPOSITORY


def test_each_event_is_one_line_with_its_stamp(tmp_path):
    clock = itertools.count(100, 50)
    path = tmp_path / "j"
    journal = Journal(str(path), "decoder", lambda: next(clock))
    journal.write("start", n_slots=2)
    journal.write("end")
    journal.close()
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    pid = os.getpid()
    assert lines == [
        {"t_ns": 100, "seq": 1, "who": "decoder", "pid": pid, "event": "start", "n_slots": 2},
        {"t_ns": 150, "seq": 2, "who": "decoder", "pid": pid, "event": "end"},
    ]


def test_two_writers_share_a_file(tmp_path):
    path = tmp_path / "j"
    left, right = (Journal(str(path), who, lambda: 0) for who in ("decoder", "provider"))
    for _ in range(50):
        left.write("a", filler="x" * 500)
        right.write("b")
    left.close()
    right.close()
    events = [json.loads(line)["event"] for line in path.read_text().splitlines()]
    assert events == ["a", "b"] * 50


def test_without_a_path_nothing_is_wanted_and_nothing_written():
    journal = Journal(None, "decoder", lambda: 0)
    journal.write("start")
    assert not journal.wanted


def test_what_is_kept_is_bounded():
    journal = Journal(None, "decoder", lambda: 0, keep=True)
    for _ in range(10_500):
        journal.write("a")
    assert journal.kept is not None
    assert (len(journal.kept), journal.kept[-1]["seq"]) == (10_000, 10_500)


def test_every_event_that_is_written_is_one_that_can_be_asked_for():
    sources = [path.read_text() for path in Path(fakes.__file__).parent.rglob("*.py") if "tests" not in path.parts]
    written = {name for text in sources for name in re.findall(r'[jJ]ournal\.write\(\s*"([a-z_]+)"', text)}
    assert written
    assert written <= EVENTS


def test_every_event_is_on_a_page():
    pages = "".join((REPOSITORY / "docs" / name).read_text() for name in ("fakes.md", "hydra.md"))
    assert sorted(event for event in EVENTS if f"`{event}`" not in pages) == []
