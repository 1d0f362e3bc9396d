"""`step` and `step.parity` on records laid down by hand: good, planted bad, missing."""

import textwrap
from dataclasses import replace
from typing import Any

import pytest

from harness import marked_yaml
from harness.checks.evaluate import evaluate
from harness.checks.shape import CheckShape
from harness.record import Pages, Record, StepRecord
from harness.result import Status
from harness.shapes import Place

COLD = StepRecord(
    name="cold",
    sent_ns=1,
    end_ns=2,
    status=200,
    body={"content": "abc", "id_slot": 0, "timings": {"cache_n": 0, "prompt_n": 5, "predicted_n": 5}},
    prompt=(1, 2, 3, 4, 5),
    ids=(10, 11, 12, 13, 14, 15),
    margins=(1.0, 1.0, 1.0, 1.0, 0.5, 1.0),
)
AGAIN = replace(COLD, name="again", end_ns=4, body={"timings": {"cache_n": 4, "prompt_n": 1}})
REFUSED = StepRecord("refused", 5, 400, end_ns=6, body={"error": {"code": 400, "type": "t", "message": "Invalid slot"}})
GOOD = Record(steps=(COLD, AGAIN, REFUSED))


def judged(check: str, record: Record = GOOD, tmp: Any = "f.yaml") -> tuple[Status, str]:
    node = marked_yaml.parse(textwrap.dedent(check), tmp)
    result = evaluate(CheckShape().parse(node, Place(tmp)), record)
    return result.status, result.detail


def with_ids(*ids: int, margin: float = 0.5) -> Record:
    margins = (*COLD.margins[:4], margin, 1.0)
    return Record(steps=(replace(COLD, margins=margins), replace(AGAIN, ids=ids)))


@pytest.mark.parametrize(
    ("check", "status"),
    [
        ("{step: {cache_n: 4, prompt_n: 1}, request: again}", Status.OK),
        ("{step: {cache_n: {min: 5}}, request: again}", Status.FAIL),
        ("{step: {status: 400, error_code: 400, error_type: t, error: Invalid slot}, request: refused}", Status.OK),
        ("{step: {n_saved: null}, request: cold}", Status.OK),
        ("{step: {n_saved: 6}, request: cold}", Status.FAIL),
        ("{step: {tokens: {length: 6}}, request: cold}", Status.OK),
        ("{step: {status: 200}, request: never}", Status.ERROR),
        ("order: [{step: {status: 200}, request: cold}, {step: {status: 200}, request: again}]", Status.OK),
        ("order: [{step: {status: 200}, request: again}, {step: {status: 200}, request: cold}]", Status.FAIL),
        ("step.parity: {of: again, same_as: cold}", Status.OK),
        ("step.parity: {of: again, differs_from: cold}", Status.FAIL),
        ("step.parity: {of: refused, same_as: cold}", Status.ERROR),
        ("step.parity: {of: never, same_as: cold}", Status.ERROR),
    ],
)
def test_what_came_of_a_step(check: str, status: Status) -> None:
    assert judged(check)[0] is status


def test_a_finding_carries_the_servers_own_words() -> None:
    assert judged("{step: {status: 200}, request: refused}")[1].endswith("expected 200, seen 400 (Invalid slot)")


PARITY = "step.parity: {of: again, same_as: cold}"


def test_another_reply_is_red_with_its_position_and_margin() -> None:
    status, detail = judged(PARITY, with_ids(10, 11, 12, 13, 99, 15))
    assert status is Status.FAIL
    assert "at token 4 the reply has 99, the plain run 14, the plain run's margin there is 0.5" in detail


def test_a_near_tie_ends_the_comparison() -> None:
    assert judged(PARITY, with_ids(10, 11, 12, 13, 99, 98, margin=0.005))[0] is Status.OK


def test_a_reply_that_ends_sooner_is_another_reply() -> None:
    assert judged(PARITY, with_ids(10, 11, 12, 13))[0] is Status.FAIL


def test_first_ids_of_the_other_can_be_left_out() -> None:
    record = with_ids(12, 13, 14, 15)
    assert judged("step.parity: {of: again, same_as: cold, after: 2}", record)[0] is Status.OK
    assert judged("step.parity: {of: again, same_as: cold, after: 1}", record)[0] is Status.FAIL


COUNTS = "{step.metrics: {'x:prompt_tokens_total': 1}, request: cold}"
BEFORE, AFTER = "# HELP x:prompt_tokens_total Tokens.\nx:prompt_tokens_total 30\n", "x:prompt_tokens_total 31\n"


def metered(pages: Pages | None) -> Record:
    return Record(steps=(replace(COLD, metrics=pages), AGAIN))


@pytest.mark.parametrize(
    ("pages", "status", "detail"),
    [
        (Pages(BEFORE, AFTER), Status.OK, "1 looked at"),
        (Pages(BEFORE, "x:prompt_tokens_total 61\n"), Status.FAIL, "x:prompt_tokens_total: expected 1, seen 31"),
        (Pages(BEFORE, BEFORE), Status.FAIL, "seen 0"),
        (Pages(BEFORE, "other 31\n"), Status.ERROR, "do not have x:prompt_tokens_total"),
        (Pages("", ""), Status.ERROR, "do not have x:prompt_tokens_total"),
        (Pages(unread="/metrics answered 501"), Status.ERROR, "could not be read: /metrics answered 501"),
        (None, Status.ERROR, "could not be read"),
    ],
)
def test_a_counter_has_grown_over_a_step_or_is_not_there_to_be_seen(
    pages: Pages | None, status: Status, detail: str
) -> None:
    result = judged(COUNTS, metered(pages))
    assert result[0] is status
    assert detail in result[1]


def test_a_step_that_was_never_done_has_no_growth() -> None:
    assert judged(COUNTS, Record())[0] is Status.ERROR


def test_without_a_name_every_step_has_to_have_grown_so() -> None:
    both = Record(steps=(replace(COLD, metrics=Pages(BEFORE, AFTER)), replace(AGAIN, metrics=Pages(AFTER, AFTER))))
    assert judged("step.metrics: {'x:prompt_tokens_total': 1}", both)[0] is Status.FAIL
    assert judged("step.metrics: {'x:prompt_tokens_total': {max: 1}}", both)[0] is Status.OK
