"""JSON, JUnit and Markdown: read back by their own parsers, with hostile text inside."""

import json
from xml.etree import ElementTree as xml

import pytest

from reports import json_file, junit, markdown
from reports.tests import made


@pytest.mark.parametrize("result", [made.run(partial=True), made.comparison()], ids=["run", "ab"])
def test_json_reads_back_as_the_same_result(result):
    assert json_file.read(json_file.render(result)) == result


def test_json_has_the_published_keys():
    values = json.loads(json_file.render(made.comparison()))
    assert values["schema"] == 1
    assert values["verdict"] == "regression"
    assert set(values["builds"]) == {"old", "new"}
    assert values["builds"]["old"]["digest"] == "0123456789abcdef"
    first = values["checks"][0]
    assert {key: first[key] for key in ("suite", "check", "build", "status")} == {
        "suite": made.SUITE,
        "check": "the request was pinned to slot 0",
        "build": "old",
        "status": "FAIL",
    }


def test_json_of_a_newer_kvgate_with_more_keys_is_read():
    values = json.loads(json_file.render(made.comparison()))
    values["invented"] = values["checks"][0]["invented"] = values["scenarios"][0]["invented"] = 1
    assert json_file.read(json.dumps(values)) == made.comparison()


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"schema": 2}', '{"schema": 1}', "null", '"text"'])
def test_what_is_no_result_is_one_clear_error(text):
    with pytest.raises(ValueError, match=r"not JSON|not a kvgate result|schema 2"):
        json_file.read(text)


def junit_cases(result):
    root = xml.fromstring(junit.render(result))
    return root, {case.get("name"): [child.tag for child in case] for case in root.iter("testcase")}


def test_junit_of_a_run_has_one_case_for_each_check_and_one_for_what_was_left():
    root, cases = junit_cases(made.run())
    assert cases == {
        "the request was pinned to slot 0": [],
        "the fallback to the state file is named": ["failure"],
        "the decoder was not left to prefill the prompt itself": ["error"],
        "a real decoder answers the same": ["skipped"],
        "nothing is left behind": ["failure"],
    }
    figures = {key: root.get(key) for key in ("tests", "failures", "errors", "skipped", "time")}
    assert figures == {"tests": "5", "failures": "2", "errors": "1", "skipped": "1", "time": "0.420"}


def test_junit_of_a_comparison_fails_where_new_is_convicted():
    _, cases = junit_cases(made.comparison())
    assert cases == {
        "the request was pinned to slot 0": [],
        "the refusal itself is named": [],
        "the request is answered after a refused share": ["failure"],
        "the first token comes within its bound": ["failure"],
        "the provider ran once": ["error"],
        "30 cells are adopted": ["failure"],
    }


def test_junit_gives_the_evidence():
    root, _ = junit_cases(made.run())
    texts = [failure.text or "" for failure in root.iter("failure")]
    assert any("second line\nin router.log:3\nkvgate run" in text for text in texts)


def test_markdown_shows_hostile_text_as_text():
    text = markdown.render(made.run())
    (row,) = [line for line in text.splitlines() if "fallback to the state file" in line]
    assert "\\<script\\>" in row
    assert "\\| \\`tick\\`" in row
    assert "\x1b" not in text
    assert row.count(" | ") == 2, "the cell stays one cell"


def test_markdown_of_a_comparison_is_the_before_and_after_table():
    text = markdown.render(made.comparison())
    assert "| the request was pinned to slot 0 | **FAIL** | ok | fixed |" in text
    assert "| 30 cells are adopted | **2 of 3 FAIL** | ok | unstable |" in text
    before, folded = text.split("<details><summary>1 green on both</summary>\n\n**")
    assert "- the refusal itself is named" in folded.split("</details>")[0].splitlines()
    assert "the refusal itself is named" not in before
    assert f"| **hybrid\\_kvshare\\_route / {made.SCENARIO}** | | | |" in before.splitlines()


def test_markdown_of_a_run_shows_what_is_red_and_folds_the_rest_away():
    table, folded = markdown.render(made.run()).split("<details><summary>1 ok</summary>")
    assert f"| **hybrid\\_kvshare\\_route / {made.SCENARIO}** | | |" in table.splitlines()
    assert "- the request was pinned to slot 0" in folded.splitlines()
    assert "pinned to slot 0" not in table
    for word in ("**FAIL**", "**ERROR**", "skip", "socket /tmp/x/s"):
        assert word in table


@pytest.mark.parametrize(("text", "expected"), [("a|b", "`a\\|b`"), ("a`b", "`` a`b ``"), ("a\nb", "`a\\nb`")])
def test_code_spans_hold(text, expected):
    assert markdown.code(text) == expected
