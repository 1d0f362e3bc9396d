"""The verdicts as tables: every cell of the per-check rule, and every step of the precedence."""

from collections.abc import Mapping

import pytest

from harness.proof.verdict import check_verdict, compare, differs_from_expected, overall
from harness.result import LEFT_BEHIND, CheckResult, CheckVerdict, ScenarioResult, Status, Tally, Verdict

OK, FAIL, ERROR, SKIP = Status.OK, Status.FAIL, Status.ERROR, Status.SKIP


def scenario(build: str, statuses: Mapping[str, Status], *, left_behind: tuple[str, ...] = (), repeat: int = 0):
    checks = tuple(
        CheckResult("suite", "a scenario", name, build, status, "seen", repeat=repeat)
        for name, status in statuses.items()
    )
    return ScenarioResult("suite", "a scenario", build, checks, left_behind, repeat=repeat)


def verdict_of(old: Mapping[str, Status], new: Mapping[str, Status], **options: object) -> Verdict:
    return overall(compare([scenario("old", old), scenario("new", new)]), **options)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ([FAIL], [OK], "fixed"),
        ([OK], [FAIL], "broken"),
        ([OK], [OK], "green on both"),
        ([FAIL], [FAIL], "red on both"),
        ([FAIL, FAIL], [OK, OK], "fixed"),
        ([FAIL, OK], [OK, OK], "unstable"),
        ([OK, OK], [OK, FAIL], "unstable"),
        ([FAIL, ERROR], [OK, OK], "unstable"),
        ([ERROR], [OK], "error"),
        ([FAIL], [ERROR], "error"),
        ([OK, OK], [FAIL, ERROR], "error"),
        ([], [OK], "error"),
        ([FAIL], [], "error"),
        ([SKIP], [SKIP], "skipped"),
        ([SKIP], [OK], "skipped"),
        ([SKIP], [ERROR], "error"),
    ],
)
def test_one_check_on_two_builds(old, new, expected):
    assert check_verdict(Tally.of(old), Tally.of(new)) == CheckVerdict(expected)


# Each row adds what outranks the row above it, so that the order of the rules is what is tested.
PRECEDENCE = [
    ("vacuous", {"a": OK}, {"a": OK}),
    ("proven", {"a": OK, "b": FAIL}, {"a": OK, "b": OK}),
    ("failing", {"a": OK, "b": FAIL, "c": FAIL}, {"a": OK, "b": OK, "c": FAIL}),
    ("regression", {"a": OK, "b": FAIL, "c": FAIL, "d": OK}, {"a": OK, "b": OK, "c": FAIL, "d": FAIL}),
    (
        "error",
        {"a": OK, "b": FAIL, "c": FAIL, "d": OK, "e": OK},
        {"a": OK, "b": OK, "c": FAIL, "d": FAIL, "e": ERROR},
    ),
]


@pytest.mark.parametrize(("expected", "old", "new"), PRECEDENCE)
def test_precedence_of_the_overall_verdict(expected, old, new):
    assert verdict_of(old, new) == Verdict(expected)
    assert verdict_of(old, new, tainted=True) is Verdict.TAINTED


def flaky(*, broken: bool, failing: bool) -> Verdict:
    results = []
    for repeat in range(2):
        old = {"flaky": OK, "fixed": FAIL, "other": OK, "red": FAIL}
        new = {
            "flaky": FAIL if repeat else OK,
            "fixed": OK,
            "other": FAIL if broken else OK,
            "red": FAIL if failing else OK,
        }
        results += [scenario("old", old, repeat=repeat), scenario("new", new, repeat=repeat)]
    return overall(compare(results))


@pytest.mark.parametrize(
    ("broken", "failing", "expected"),
    [(True, True, Verdict.REGRESSION), (False, True, Verdict.UNSTABLE), (False, False, Verdict.UNSTABLE)],
)
def test_unstable_lies_between_regression_and_failing(broken, failing, expected):
    assert flaky(broken=broken, failing=failing) is expected


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ({"a": ERROR, "b": ERROR}, {"a": OK, "b": OK}, Verdict.ERROR),
        ({"a": ERROR, "b": FAIL}, {"a": OK, "b": OK}, Verdict.PROVEN),
        ({"a": ERROR, "b": OK}, {"a": OK, "b": OK}, Verdict.VACUOUS),
        ({"a": ERROR, "b": OK}, {"a": FAIL, "b": OK}, Verdict.FAILING),
        ({"a": SKIP}, {"a": SKIP}, Verdict.ERROR),
        ({}, {}, Verdict.ERROR),
        ({"a": FAIL}, {}, Verdict.ERROR),
    ],
)
def test_what_was_not_observed_never_proves(old, new, expected):
    assert verdict_of(old, new) is expected


def test_nothing_at_all_is_an_error():
    assert overall([]) is Verdict.ERROR


def test_only_a_red_check_counts_as_red_on_old():
    """The trap of a build that cannot start: all its checks are ERROR, and that is not red."""
    assert verdict_of({"a": ERROR}, {"a": OK}) is Verdict.ERROR


def leaving(old: tuple[str, ...], new: tuple[str, ...]):
    return compare(
        [scenario("old", {"a": OK}, left_behind=old), scenario("new", {"a": OK}, left_behind=new)],
    )


def test_what_is_left_behind_convicts_and_proves_like_a_check():
    assert overall(leaving((), ("a socket",))) is Verdict.REGRESSION
    assert overall(leaving(("a socket",), ())) is Verdict.PROVEN
    assert overall(leaving(("a socket",), ("a socket",))) is Verdict.FAILING


def test_what_is_left_behind_is_a_row_only_where_something_was():
    assert [each.check for each in leaving((), ())] == ["a"]
    (_, finding) = leaving(("a socket",), ())
    assert (finding.check, finding.implicit) == (LEFT_BEHIND, True)


def test_expected_red_names_must_be_the_red_ones():
    old, new = {"a": FAIL, "b": FAIL, "c": OK}, {"a": OK, "b": OK, "c": OK}
    assert verdict_of(old, new, expect_red=["b", "a"]) is Verdict.PROVEN
    assert verdict_of(old, new, expect_red=["a"]) is Verdict.UNEXPECTED
    assert verdict_of(old, new, expect_red=["a", "b", "c"]) is Verdict.UNEXPECTED
    assert verdict_of({"a": OK}, {"a": OK}, expect_red=["a"]) is Verdict.VACUOUS
    comparisons = compare([scenario("old", old), scenario("new", new)])
    assert differs_from_expected(comparisons, ["a", "c"]) == (
        "expected red on old, and it is not: c",
        "red on old, and not expected to be: b",
    )


def test_checks_of_one_name_in_two_suites_are_kept_apart():
    one = CheckResult("one", "s", "name", "old", FAIL, "")
    two = CheckResult("two", "s", "name", "old", OK, "")
    results = [ScenarioResult("one", "s", "old", (one,)), ScenarioResult("two", "s", "old", (two,))]
    assert [(each.suite, each.tallies["old"].fail) for each in compare(results)] == [("one", 1), ("two", 0)]


def test_exit_statuses_are_the_documented_ones():
    documented = {"proven": 0, "regression": 1, "failing": 1, "error": 3, "tainted": 3, "unstable": 3, "vacuous": 4}
    assert {name: Verdict(name).exit_status for name in documented} == documented


@pytest.mark.parametrize(
    ("base", "fix", "both", "expected", "verdict"),
    [
        (FAIL, OK, OK, "fixed", Verdict.PROVEN),
        (FAIL, OK, FAIL, "broken", Verdict.REGRESSION),
        (FAIL, FAIL, FAIL, "red on both", Verdict.FAILING),
        (OK, OK, OK, "green on both", Verdict.VACUOUS),
        (OK, FAIL, OK, "green on both", Verdict.VACUOUS),
        (FAIL, ERROR, OK, "fixed", Verdict.PROVEN),
    ],
)
def test_fixes_compose_or_they_do_not(base, fix, both, expected, verdict):
    results = [scenario(name, {"a": status}) for name, status in (("base", base), ("fix", fix), ("both", both))]
    (compared,) = compare(results, ("base", "fix", "both"))
    assert compared.verdict == CheckVerdict(expected)
    assert overall([compared], old="base", new="both") is verdict
