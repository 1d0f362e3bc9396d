"""The decision table: every failure that the code can raise has a row, and every row is raised somewhere."""

import ast
from pathlib import Path

import pytest

import router
from router.routes.choose import (
    TABLE,
    TAILS,
    Next,
    Outcome,
    Policy,
    Step,
    failed,
    line,
    what_follows,
)
from router.routes.table_page import page

PACKAGE = Path(router.__file__).parent
BODY = '{"error": {"message": "no"}}'


def _pairs_in_code() -> set[tuple[Step, Outcome]]:
    """The pairs of all `failed(Step.X, Outcome.Y, ...)` calls, and those of the calls that stand for several."""
    pairs: set[tuple[Step, Outcome]] = set()
    variables: set[Outcome] = set()
    for path in PACKAGE.rglob("*.py"):
        if "tests" in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("failed", "refused"):
                step, outcome = [*node.args, None, None][:2]
                if isinstance(step, ast.Attribute) and isinstance(outcome, ast.Attribute):
                    pairs.add((Step[step.attr], Outcome[outcome.attr]))
                elif isinstance(step, ast.Name) and isinstance(outcome, ast.Attribute):
                    variables.add(Outcome[outcome.attr])
    lost = {Outcome.UNREACHABLE, Outcome.TIMED_OUT, Outcome.CUT_OFF}
    broken = {Outcome.NO_CONNECTION, Outcome.TIMED_OUT, Outcome.CUT_OFF}
    assert variables == lost | broken
    calls = (Step.TEMPLATE, Step.TOKENIZE, Step.SHARE, Step.OWN_STATE, Step.ADOPT, Step.RESTORE)
    pairs |= {(step, outcome) for step in calls for outcome in lost}
    # State is put into an engine in one of two ways, each of which can break.
    pairs |= {(step, outcome) for step in (Step.STATE_PUT, Step.DECODE) for outcome in broken}
    # `refused(step, answer)` and the claim's two ways to be short choose their outcome by value.
    pairs |= {(step, Outcome.REFUSED) for step in (*calls, Step.ERASE)}
    pairs |= {(Step.SHARE, Outcome.NOT_SUPPORTED), (Step.SHARE, Outcome.MALFORMED), (Step.SHARE, Outcome.NO_SHARE_ID)}
    pairs |= {(Step.CLAIM, Outcome.SHORT_REGION), (Step.CLAIM, Outcome.SHORT_FILE)}
    return pairs


def test_table_and_code_name_the_same_failures():
    assert _pairs_in_code() == set(TABLE)


def test_every_next_has_a_tail():
    assert set(TAILS) == set(Next)


@pytest.mark.parametrize(
    ("pair", "values", "policy", "expected"),
    [
        (
            (Step.SHARE, Outcome.REFUSED),
            {"status": 400, "body": BODY},
            Policy(),
            f"share answered 400: {BODY}; this decoder cannot share its KV, so the state-file route is used",
        ),
        (
            (Step.SHARE, Outcome.REFUSED),
            {"status": 400, "body": BODY},
            Policy(has_state_file=False),
            f"share answered 400: {BODY}; the backend prefills this request itself",
        ),
        (
            (Step.SHARE, Outcome.NOT_SUPPORTED),
            {"status": 501, "body": BODY},
            Policy(),
            f"share answered 501: {BODY}; the backend prefills this request itself",
        ),
        (
            (Step.PROVIDER, Outcome.EXITED),
            {"status": 3},
            Policy(),
            "provider exited 3; the backend prefills this request itself",
        ),
        (
            (Step.CLAIM, Outcome.SHORT_REGION),
            {"claimed": 29, "asked": 30},
            Policy(),
            "provider prefilled 29 of 30 tokens into the shared region; the backend prefills this request itself",
        ),
        (
            (Step.CLAIM, Outcome.SHORT_FILE),
            {"claimed": 29, "asked": 30},
            Policy(),
            "provider prefilled 29 of 30 tokens; the backend prefills this request itself",
        ),
        (
            (Step.CLAIM, Outcome.ABSURD),
            {"claimed": "-1", "asked": 30},
            Policy(),
            "provider claimed n_tokens -1 for 30 tokens; the backend prefills this request itself",
        ),
        (
            (Step.ADOPT, Outcome.REFUSED),
            {"status": 400, "body": BODY},
            Policy(),
            f"adopt answered 400: {BODY}; the backend prefills this request itself",
        ),
        (
            (Step.RESTORE, Outcome.REFUSED),
            {"status": 400, "body": BODY},
            Policy(),
            f"restore answered 400: {BODY}; the backend prefills this request itself",
        ),
        (
            (Step.REPLY, Outcome.LOST),
            {"evaluated": 30, "asked": 30},
            Policy(),
            "the decoder evaluated 30 of 30 prompt tokens after a handoff: the handed-over KV was not used",
        ),
        (
            (Step.REPLY, Outcome.PARTIAL),
            {"cached": 196, "asked": 200},
            Policy(),
            "the handed-over KV was used up to token 196 of 200",
        ),
    ],
)
def test_lines_of_the_contract(pair, values, policy, expected):
    failure = failed(*pair, **values)
    assert line(failure, what_follows(failure, policy)) == expected


def test_only_the_handshake_is_followed_by_the_state_file_route():
    """A provider that ran is never run again for the same request."""
    steps = {step for (step, _), row in TABLE.items() if row.next is Next.STATE_FILE}
    assert steps == {Step.LISTEN, Step.SHARE, Step.DESCRIPTORS, Step.PROVIDER}
    after = {outcome for (step, outcome), row in TABLE.items() if (step, row.next) == (Step.PROVIDER, Next.STATE_FILE)}
    assert after == {Outcome.CANNOT_SHARE}, "the one that never started"


def test_a_dead_decoder_gets_no_second_route():
    for (step, outcome), row in TABLE.items():
        assert (row.next is Next.UNAVAILABLE) == (outcome is Outcome.UNREACHABLE), (step, outcome)


def test_strict_refuses_what_would_be_plain_and_nothing_else():
    strict = Policy(strict=True)
    assert what_follows(failed(Step.PROVIDER, Outcome.EXITED, status=3), strict) is Next.REFUSE
    assert what_follows(failed(Step.SHARE, Outcome.REFUSED, status=400, body=""), strict) is Next.STATE_FILE
    assert what_follows(failed(Step.SHARE, Outcome.UNREACHABLE, reason="x"), strict) is Next.UNAVAILABLE


def test_a_missing_value_or_pair_cannot_be_raised():
    with pytest.raises(KeyError):
        failed(Step.PROVIDER, Outcome.EXITED)
    with pytest.raises(KeyError):
        failed(Step.LISTEN, Outcome.LOST)


def test_the_docs_page_is_the_table():
    committed = PACKAGE.parent / "docs" / "decision-table.md"
    assert committed.read_text() == page(), "run: python -m router.routes.table_page > docs/decision-table.md"
