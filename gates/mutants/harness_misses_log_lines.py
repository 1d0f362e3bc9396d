"""The log's reader stops before the last line."""

from dataclasses import replace
from typing import Any

from harness import record

REPLACES = "harness"
TESTS = ("harness/tests/test_record.py",)

_whole = record.read_log


def _cut(*words: Any, **named: Any) -> record.Log:
    log = _whole(*words, **named)
    return replace(log, lines=log.lines[:-1])


record.read_log = _cut
