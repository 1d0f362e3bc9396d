"""Proof of use from a reply's own counters."""

import json

import pytest

from router.proof import Timings, Use, prove, read_timings


@pytest.mark.parametrize(
    ("timings", "n_prompt", "n_handed", "use", "words"),
    [
        (Timings(29, 1), 30, 30, Use.USED, []),
        (Timings(29, 1), 30, 29, Use.USED, []),
        (
            Timings(0, 30),
            30,
            30,
            Use.LOST,
            ["the decoder evaluated 30 of 30 prompt tokens after a handoff: the handed-over KV was not used"],
        ),
        (Timings(196, 4), 200, 200, Use.PARTIAL, ["the handed-over KV was used up to token 196 of 200"]),
        (Timings(28, 2), 30, 29, Use.PARTIAL, ["the handed-over KV was used up to token 28 of 29"]),
        (
            Timings(28, 1),
            30,
            30,
            Use.UNKNOWN,
            ["the decoder counted 28 cached and 1 evaluated tokens of a prompt of 30"],
        ),
        (None, 30, 30, Use.UNKNOWN, []),
    ],
)
def test_verdicts(timings, n_prompt, n_handed, use, words):
    proof = prove(timings, n_prompt, n_handed)
    assert proof.use is use
    assert [finding.words for finding in proof.findings] == words


def test_an_imported_prefix_thrown_away_is_lost_and_miscounted():
    """Nothing cached, and only the tail evaluated: the answer came from an empty context."""
    proof = prove(Timings(0, 2), 30, 30)
    assert proof.use is Use.LOST
    assert len(proof.findings) == 2


def test_tokens_paid_twice_are_counted():
    assert prove(Timings(0, 30), 30, 29).tokens_again == 29
    assert prove(Timings(196, 4), 200, 200).tokens_again == 4
    assert prove(Timings(29, 1), 30, 30).tokens_again == 0


def test_timings_are_read_from_the_reply_itself():
    assert read_timings(json.dumps({"timings": {"cache_n": 3, "prompt_n": 1}}).encode()) == Timings(3, 1)


@pytest.mark.parametrize(
    "raw",
    [
        b"{}",
        b'{"content":"\\"timings\\": 1"}',
        b'{"timings": null}',
        b'{"timings": {"cache_n": "3", "prompt_n": 1}}',
        b'{"timings": {"cache_n": true, "prompt_n": 1}}',
        b'{"timings": {"prompt_n": 1}}',
        b'{"timings": {',
        b'[{"timings": {}}]',
    ],
)
def test_what_carries_no_counters_is_unknown(raw):
    assert read_timings(raw) is None
