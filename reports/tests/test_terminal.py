"""The terminal report: nothing is lost, nothing steers the terminal, nothing is wider than the screen."""

import io
import re
from dataclasses import replace

import pytest

from harness.result import RunResult, Status, Verdict
from reports import terminal
from reports.printable import shortened
from reports.progress import Progress
from reports.terminal import Screen
from reports.tests import made

WIDTHS = [30, 40, 63, 64, 80, 100, 140]


def plain(text: str) -> str:
    return re.sub(r"\x1b\[\d*m", "", text)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("result", [made.run(), made.comparison()], ids=["run", "ab"])
def test_no_line_is_wider_than_the_screen(result, width):
    lines = plain(terminal.render(result, Screen(width, colour=True))).splitlines()
    to_copy = ("        again: ", "folder: ")
    assert [line for line in lines if len(line) > width and not line.startswith(to_copy)] == []


@pytest.mark.parametrize("width", WIDTHS)
def test_a_command_to_copy_is_one_line_at_every_width(width):
    (scenario,) = made.run().scenarios
    assert f"        again: {scenario.rerun}" in terminal.render(made.run(), Screen(width)).splitlines()


@pytest.mark.parametrize("width", WIDTHS)
def test_a_comparison_names_the_scenario_at_every_width(width):
    each = made.comparison().comparisons[0]
    text = terminal.render(made.comparison(), Screen(width))
    assert text.index(f"{each.suite} / ") < text.index(" ".join(each.check.split()[:2]))


@pytest.mark.parametrize("width", WIDTHS)
def test_every_check_is_named_at_every_width(width):
    text = " ".join(terminal.render(made.run(), Screen(width)).split())
    for check in made.run().checks:
        assert check.check in text


def test_the_note_of_a_scenario_is_a_line_of_its_own():
    assert "hybrid_e2e: prompt_n 1, plain 22" in terminal.render(made.run()).splitlines()


def test_a_red_check_shows_what_was_seen_where_and_how_to_run_it_again():
    text = terminal.render(made.run())
    assert "in router.log:3" in text
    assert "again: kvgate run scenarios/hybrid_kvshare_route/refused.yaml --router kvgate-router" in text
    assert "second line" in text
    assert "socket /tmp/x/s" in text


def test_what_is_the_same_for_many_checks_is_said_once():
    checks = [made.check(f"check {number}", Status.ERROR, "the build was never ready") for number in range(5)]
    checks.append(made.check("another", Status.ERROR, "something else"))
    (scenario,) = made.run().scenarios
    text = terminal.render(replace(made.run(), scenarios=(replace(scenario, checks=tuple(checks)),)))
    assert text.count("the build was never ready") == 1
    assert text.index("check 4") < text.index("never ready") < text.index("another") < text.index("something else")


def test_a_build_that_never_was_ready_is_said_once_however_many_checks_there_are():
    many = [made.check(f"check {number}", Status.ERROR, "no such program", build="old") for number in range(54)]
    compared = made.comparison()
    scenario = replace(compared.scenarios[0], build="old", checks=tuple(many))
    text = terminal.render(replace(compared, scenarios=(scenario, *compared.scenarios[1:])))
    assert text.count("no such program") == 1
    assert text.index("check 4 (old)") < text.index("and 49 more") < text.index("no such program")
    assert "check 5 (old)" not in text


def test_a_run_of_skipped_checks_alone_does_not_say_that_nothing_could_be_seen():
    (scenario,) = made.run().scenarios
    skipped = replace(scenario, checks=(made.check("one", Status.SKIP, "known red: not yet"),))
    text = terminal.render(replace(made.run(), verdict=Verdict.ERROR, scenarios=(skipped,)))
    assert "error: every check was skipped, so nothing is shown (1 skip" in text


def test_a_run_that_was_cut_short_says_so_at_its_end():
    text = terminal.render(replace(made.run(partial=True), verdict=Verdict.ERROR))
    assert "error: the run was cut short, so nothing is proven" in text


def test_no_colour_means_no_escape_and_logs_cannot_bring_one():
    assert "\x1b" not in terminal.render(made.run(), Screen(colour=False))
    assert "\\x1b[31m" in terminal.render(made.run(), Screen(colour=True))


def test_colour_changes_no_text():
    for result in (made.run(), made.comparison()):
        assert plain(terminal.render(result, Screen(90, colour=True))).replace("\\x1b[31m", "") == terminal.render(
            result, Screen(90)
        ).replace("\\x1b[31m", "")


@pytest.mark.parametrize("width", [50, 100])
def test_a_comparison_shows_what_moved_and_counts_the_rest(width):
    text = terminal.render(made.comparison(), Screen(width))
    for verdict in ("fixed", "broken", "red on both", "unstable"):
        assert verdict in text
    assert "2 of 3 FAIL" in text
    assert "and 1 check green on both" in text
    assert "the refusal itself is named" not in text


def test_the_last_line_is_the_verdict():
    last = terminal.render(made.comparison(), Screen(140)).splitlines()[-1]
    assert last.startswith("regression: ")
    assert "1 fixed, 1 broken, 1 green on both, 1 red on both, 1 unstable, 1 error" in last


def test_partial_results_say_so():
    assert "partial" in terminal.render(made.run(partial=True))
    assert "partial" not in terminal.render(made.run())


def test_a_run_of_nothing_is_shown_as_one():
    text = terminal.render(RunResult("run", Verdict.ERROR, (), ()))
    assert "0 checks in 0 scenarios" in text


@pytest.mark.parametrize(("width", "expected"), [(0, ""), (1, "…"), (2, "…b"), (4, "a…ab"), (6, "ababab")])
def test_shortened_keeps_both_ends(width, expected):
    assert shortened("ababab", width) == expected


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_on_a_terminal_is_one_line_that_is_taken_away():
    stream = Terminal()
    progress = Progress(stream, 2, Screen(60))
    (scenario,) = made.run().scenarios
    progress.started("suite", "first", "old")
    progress.ended(scenario)
    progress.started("suite", "second", "old")
    assert "[2/2, 1 failed] old: suite / second" in stream.getvalue()
    progress.finished()
    assert "\n" not in stream.getvalue()
    assert stream.getvalue().endswith("\r\x1b[K")


def test_progress_elsewhere_is_a_line_for_each_scenario():
    stream = io.StringIO()
    progress = Progress(stream, 1)
    (scenario,) = made.run().scenarios
    progress.started("suite", "first", "old")
    progress.ended(replace(scenario, left_behind=()))
    progress.finished()
    assert scenario.status is Status.FAIL
    assert stream.getvalue().startswith("[1/1] FAIL  router: hybrid_kvshare_route / ")
    assert stream.getvalue().count("\n") == 1
