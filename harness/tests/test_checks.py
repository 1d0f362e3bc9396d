"""Every observable on four records: good, planted bad, empty, missing."""

from dataclasses import replace

import pytest

from harness.checks.evaluate import evaluate
from harness.checks.look import Observable
from harness.checks.register import OBSERVABLES
from harness.record import Exit, FileEvent, Record
from harness.result import Status
from harness.tests.records import (
    EMPTY,
    GOOD,
    MISSING,
    check,
    completion,
    event,
    exchange,
    journal,
    log,
    reply,
)


def with_decoder(*events):
    return replace(GOOD, journals={**GOOD.journals, "decoder": journal(*events, event(99, "end"))})


def with_reply(**changes):
    return replace(GOOD, exchanges=(exchange(reply(**changes)),))


BAD_LOG = replace(GOOD, logs={"build": log("all is well")})

# the check, a record on which it is FAIL, what an empty record gives
TABLE = {
    "reply": ("reply: {status: 200, tokens: 4}", with_reply(status=500, error="oh"), Status.ERROR),
    "reply.parity": (
        "reply.parity: same",
        with_decoder(completion(predicted=[7, 8, 9, 11])),
        Status.ERROR,
    ),
    "reply.ttft_ms": ("reply.ttft_ms: 10", with_reply(timings=replace(reply().timings, sent_ns=0)), Status.ERROR),
    "reply.itl_ms": ("reply.itl_ms: {max: 8}", with_reply(timings=replace(reply().timings, token_ns=(0, 9 * 10**6))),
                     Status.ERROR),
    "reply.total_ms": ("reply.total_ms: {max: 30}", with_reply(timings=replace(reply().timings, sent_ns=0)),
                       Status.ERROR),
    "log.contains": ("log.contains: share answered 400", BAD_LOG, Status.FAIL),
    "log.matches": ("log.matches: 'share answered \\d+'", BAD_LOG, Status.FAIL),
    "decoder.completion": ("decoder.completion: {id_slot: 0}", with_decoder(completion(id_slot=None)), Status.FAIL),
    "decoder.prompt_n": ("decoder.prompt_n: 1", with_decoder(completion(prompt_n=30)), Status.FAIL),
    "provider.start": (
        "provider.start: {tokens: {same_as: prompt.tokens}}",
        replace(GOOD, journals={**GOOD.journals, "provider": journal(event(1, "start", tokens=[1]), name="provider")}),
        Status.FAIL,
    ),
    "files.written": (
        "files.written: {folder: slot-save}",
        replace(GOOD, files=(FileEvent(5, "tmp", "a.bin", "created"),)),
        Status.FAIL,
    ),
    "slots": ("slots: {is_processing: false}", replace(GOOD, slots=[{"id": 0, "is_processing": True}]), Status.FAIL),
    "metrics": ("metrics: {'kv_total{route=\"shared\"}': 1}", replace(GOOD, metrics="kv_total 1\n"), Status.FAIL),
    "exit.build": ("exit.build: {status: 0}", replace(GOOD, exits={"build": Exit(-11, asked=False)}), Status.FAIL),
}  # fmt: skip


@pytest.mark.parametrize("key", TABLE)
def test_a_good_record_is_ok(key):
    result = evaluate(check(TABLE[key][0]), GOOD)
    assert result.status is Status.OK, result.detail


@pytest.mark.parametrize("key", TABLE)
def test_a_planted_fault_is_a_finding_that_says_what_was_seen(key):
    result = evaluate(check(TABLE[key][0]), TABLE[key][1])
    assert result.status is Status.FAIL
    assert result.detail


@pytest.mark.parametrize("key", TABLE)
def test_an_empty_record_is_no_success(key):
    record = EMPTY if key != "exit.build" else replace(EMPTY, exits={"build": Exit(1, asked=True)})
    expected = Status.FAIL if key == "exit.build" else TABLE[key][2]
    assert evaluate(check(TABLE[key][0]), record).status is expected


@pytest.mark.parametrize("key", TABLE)
def test_a_missing_record_is_an_error_and_never_red(key):
    assert evaluate(check(TABLE[key][0]), MISSING).status is Status.ERROR


def test_the_stream_of_a_streamed_reply():
    streamed = with_reply(streamed=True, frames=3, done=True)
    wanted = check("stream: {done: true, frames: {min: 2}, tokens_timed: 3}")
    assert evaluate(wanted, streamed).status is Status.OK
    assert evaluate(wanted, with_reply(streamed=True, frames=3, done=False)).status is Status.FAIL
    assert evaluate(wanted, GOOD).status is Status.FAIL  # nothing was streamed
    assert evaluate(wanted, MISSING).status is Status.ERROR


def test_a_cut_journal_is_an_error_whatever_it_shows():
    cut = replace(GOOD, journals={"decoder": journal(completion(), incomplete="decoder.jsonl is cut short")})
    assert evaluate(check("decoder.prompt_n: 1"), cut).status is Status.ERROR


def test_where_points_at_the_line():
    assert evaluate(check("log.contains: answered 400"), GOOD).where == "build.log:2"
    assert evaluate(check("decoder.completion: {id_slot: 3}"), GOOD).where == "decoder.jsonl:4"


class TestCounts:
    def test_a_count_wants_that_many_and_each_of_them_right(self):
        twice = with_decoder(event(2, "share", n_tokens=30), event(3, "share", n_tokens=29))
        assert evaluate(check("{'decoder.share': {n_tokens: 30}, count: 1}"), GOOD).status is Status.OK
        assert evaluate(check("{'decoder.share': {}, count: 1}"), twice).status is Status.FAIL
        assert evaluate(check("{'decoder.share': {n_tokens: 30}, count: 2}"), twice).status is Status.FAIL
        assert evaluate(check("{'decoder.share': {}, count: {min: 2}}"), twice).status is Status.OK

    def test_where_narrows_what_is_looked_at(self):
        twice = with_decoder(event(2, "share", slot=0, n_tokens=30), event(3, "share", slot=1, n_tokens=29))
        narrowed = "{'decoder.share': {n_tokens: 30}, where: {slot: 0}, count: 1}"
        assert evaluate(check(narrowed), twice).status is Status.OK


class TestAbsence:
    TEXT = "{absent: {'decoder.adopt': {}}, witness: {'decoder.completion': {status: 200}}}"

    def test_not_seen_and_the_witness_there_is_ok(self):
        assert evaluate(check(self.TEXT), with_decoder(completion())).status is Status.OK

    def test_seen_is_a_finding_even_without_the_witness(self):
        assert evaluate(check(self.TEXT), with_decoder(event(2, "adopt"))).status is Status.FAIL

    def test_without_the_witness_nothing_is_shown(self):
        assert evaluate(check(self.TEXT), with_decoder()).status is Status.ERROR

    def test_in_a_missing_record_nothing_is_shown(self):
        assert evaluate(check(self.TEXT), MISSING).status is Status.ERROR

    def test_count_zero_is_an_absence_too(self):
        text = "{'decoder.adopt': {status: 200}, count: 0, witness: {'decoder.completion': {}}}"
        assert evaluate(check(text), with_decoder(event(2, "adopt", status=400), completion())).status is Status.OK
        assert evaluate(check(text), GOOD).status is Status.FAIL


class TestOrder:
    TEXT = "order: [{'provider.start': {}}, {'decoder.adopt': {}}]"

    def test_in_order(self):
        assert evaluate(check(self.TEXT), GOOD).status is Status.OK

    def test_the_wrong_way_round_is_a_finding(self):
        early = with_decoder(event(2, "adopt", t_ns=5))
        assert evaluate(check(self.TEXT), early).status is Status.FAIL

    def test_one_of_several_too_early_is_a_finding(self):
        early = with_decoder(event(2, "adopt", t_ns=5), event(3, "adopt"))
        assert evaluate(check(self.TEXT), early).status is Status.FAIL

    def test_a_step_that_never_was_is_a_finding(self):
        assert evaluate(check(self.TEXT), with_decoder()).status is Status.FAIL


class TestCombined:
    def test_all_needs_all_and_fail_wins_over_error(self):
        both = "all: [{'log.contains': nowhere}, {'prefill.prompt_n': 1}]"
        assert evaluate(check(both), GOOD).status is Status.FAIL

    def test_any_needs_one(self):
        assert evaluate(check("any: [{'log.contains': nowhere}, {'decoder.prompt_n': 1}]"), GOOD).status is Status.OK
        assert evaluate(check("any: [{'log.contains': nowhere}, {'decoder.prompt_n': 2}]"), GOOD).status is Status.FAIL


class TestWithin:
    def test_the_time_counts_from_the_request(self):
        assert evaluate(check("{'decoder.adopt': {}, within: 0.5}"), GOOD).status is Status.OK
        late = with_decoder(event(2, "adopt", t_ns=3_000_000_000))
        result = evaluate(check("{'decoder.adopt': {}, within: 0.5}"), late)
        assert result.status is Status.FAIL
        assert "within 0.5 s" in result.detail


class TestParity:
    def test_the_ids_may_agree_and_the_text_not(self):
        assert evaluate(check("reply.parity: same"), with_reply(text="a b c x")).status is Status.FAIL

    def test_a_reply_that_ends_sooner_is_another_reply(self):
        assert evaluate(check("reply.parity: same"), with_decoder(completion(predicted=[7, 8]))).status is Status.FAIL

    def test_differs_needs_a_whole_reply(self):
        assert evaluate(check("reply.parity: differs"), GOOD).status is Status.FAIL
        other = with_decoder(completion(predicted=[7, 8, 1, 2]))
        assert evaluate(check("reply.parity: differs"), other).status is Status.OK
        assert evaluate(check("reply.parity: differs"), with_reply(status=500)).status is Status.FAIL

    def test_without_a_plain_run_nothing_is_compared(self):
        alone = replace(GOOD, exchanges=(exchange(plain_ids=None),))
        assert evaluate(check("reply.parity: same"), alone).status is Status.ERROR


class TestReferences:
    def test_a_list_may_hold_what_is_compared(self):
        text = "decoder.completion: {served_slot: {same_as: decoder.start.kv_inode}}"
        assert evaluate(check(text), with_decoder(event(1, "start", kv_inode=[5, 6]), completion(served_slot=6))
                        ).status is Status.OK  # fmt: skip

    def test_what_is_not_there_is_a_finding_and_a_missing_journal_an_error(self):
        text = "decoder.completion: {id_slot: {same_as: decoder.share.slot}}"
        assert evaluate(check(text), with_decoder(completion())).status is Status.FAIL
        other = "decoder.completion: {id_slot: {same_as: prefill.share.slot}}"
        assert evaluate(check(other), GOOD).status is Status.ERROR


def test_an_observable_that_raises_is_an_error_with_its_traceback(monkeypatch):
    def broken(*_):
        raise RuntimeError("the observable is broken")

    key = "decoder.prompt_n"
    was = OBSERVABLES[key]
    monkeypatch.setitem(OBSERVABLES, key, Observable(key, was.means, was.shape, broken, was.wrong))
    result = evaluate(check("decoder.prompt_n: 1"), GOOD)
    assert result.status is Status.ERROR
    assert "the observable is broken" in result.detail


def test_no_scenario_passes_on_an_empty_record():
    assert evaluate(check("reply: {status: 200}"), Record()).status is Status.ERROR


def test_two_requests_with_one_prompt_are_told_apart_by_their_order():
    same = (exchange(name="1"), exchange(name="2"))
    record = replace(with_decoder(completion(2), completion(3, predicted=[1, 2, 3, 4])), exchanges=same)
    assert evaluate(check("{'reply.parity': same, request: '1'}"), record).status is Status.OK
    assert evaluate(check("{'reply.parity': same, request: '2'}"), record).status is Status.FAIL


def test_a_request_has_its_own_entries():
    other = tuple(range(200, 230))
    record = replace(
        with_decoder(completion(2), completion(3, prompt_tokens=list(other), prompt_n=30)),
        exchanges=(exchange(name="a"), exchange(name="b", prompt=other)),
    )
    assert evaluate(check("{'decoder.prompt_n': 1, request: a, count: 1}"), record).status is Status.OK
    assert evaluate(check("{'decoder.prompt_n': 1, request: b, count: 1}"), record).status is Status.FAIL
