"""What lies on disk is read whole, or says why it is not: journals entry by entry, logs line by line."""

import json

import pytest

from harness.record import read_journal, read_log


def written(path, *entries):
    path.write_text("".join(json.dumps({"t_ns": at, "pid": 7, **entry}) + "\n" for at, entry in enumerate(entries)))
    return path


def test_every_entry_of_a_journal_is_there_with_its_line(tmp_path):
    path = written(tmp_path / "decoder.jsonl", {"event": "start"}, {"event": "restore", "slot": 0}, {"event": "end"})
    journal = read_journal(path)
    assert [(each.line, each.event) for each in journal.events] == [(1, "start"), (2, "restore"), (3, "end")]
    assert (journal.incomplete, journal.where(journal.events[1])) == ("", "decoder.jsonl:2")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"t_ns": 1, "pid": 7, "event": "start"}\n', "no end record of process 7"),
        ('{"t_ns": 1, "pid": 7, "event": "start"}\n{"t_ns": 2, "pi', "decoder.jsonl:2 is no whole journal entry"),
        ('{"t_ns": 1, "pid": 8, "event": "start"}\n{"t_ns": 2, "pid": 7, "event": "end"}\n', "of process 8"),
        ("", "is empty"),
        (None, "was never written"),
    ],
)
def test_a_journal_that_is_cut_short_says_so(tmp_path, text, told):
    path = tmp_path / "decoder.jsonl"
    if text is not None:
        path.write_text(text)
    assert told in read_journal(path).incomplete


def test_a_fake_that_was_never_asked_for_has_a_whole_journal_without_entries(tmp_path):
    assert read_journal(tmp_path / "provider.jsonl", ended=False).incomplete == ""


def test_a_log_is_read_to_its_last_line_whether_it_ends_or_not(tmp_path):
    path = tmp_path / "build.log"
    path.write_bytes(b"first\nhybrid: second \xff\nlast without an end")
    log = read_log(path, "", [1, 2])
    assert log.lines == ("first", "hybrid: second �", "last without an end")
    assert (log.incomplete, log.stamps) == ("", (1, 2))


def test_a_log_that_is_not_there_says_so(tmp_path):
    assert "cannot be read" in read_log(tmp_path / "build.log").incomplete
