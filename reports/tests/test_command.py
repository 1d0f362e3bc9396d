"""`kvgate report` and the files a command writes: from disk to disk."""

import argparse
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from harness.result import Verdict
from reports import command, json_file, outputs
from reports.tests import made


def arguments(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    return parser.parse_args(words)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "result.json").write_text(json_file.render(made.run(partial=True)))
    return tmp_path


def test_a_run_folder_is_rendered_with_the_runs_own_status(folder, capsys):
    assert command.run(arguments(str(folder))) == 1
    shown = capsys.readouterr().out
    assert "this result is partial" in shown
    assert "the fallback to the state file is named" in shown


def test_a_json_file_is_rendered_too(folder, capsys):
    assert command.run(arguments(str(folder / "result.json"))) == 1
    assert "failed: " in capsys.readouterr().out


@pytest.mark.parametrize("content", [None, "{", '{"schema": 9}'])
def test_no_result_is_one_line_and_status_2(tmp_path, capsys, content):
    if content is not None:
        (tmp_path / "result.json").write_text(content)
    assert command.run(arguments(str(tmp_path))) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith(f"kvgate report: {tmp_path}: ")


def test_every_form_is_written(folder, capsys):
    names = {"json": "a.json", "junit": "a.xml", "markdown": "a.md", "html": "a.html"}
    flags = [word for form, name in names.items() for word in (f"--{form}", str(folder / name))]
    command.run(arguments(str(folder), *flags))
    assert json.loads((folder / "a.json").read_text())["verdict"] == "failed"
    for name, start in (("a.xml", "<?xml"), ("a.md", "**kvgate run: failed**"), ("a.html", "<!doctype html>")):
        assert (folder / name).read_text().startswith(start)
    assert sorted(path.name for path in folder.iterdir()) == ["a.html", "a.json", "a.md", "a.xml", "result.json"]


def test_a_form_on_standard_output_is_all_there_is(folder, capsys):
    command.run(arguments(str(folder), "--json", "-"))
    assert json_file.read(capsys.readouterr().out) == made.run(partial=True)


def test_quiet_shows_nothing(folder, capsys):
    command.run(arguments(str(folder), "--quiet"))
    assert capsys.readouterr() == ("", "")


def test_a_file_that_cannot_be_written_is_said_and_the_result_still_shown(folder):
    out, err = io.StringIO(), io.StringIO()
    (folder / "nowhere").mkdir()
    words = arguments(str(folder), "--json", str(folder / "nowhere" / "a.json"), "--junit", str(folder / "a.xml"))
    (folder / "nowhere").rmdir()
    assert outputs.Outputs(words, out, err).show(made.run()) == 1
    assert "failed: " in out.getvalue()
    assert (folder / "a.xml").exists()
    assert err.getvalue() == f"kvgate: cannot write {folder}/nowhere/a.json: No such file or directory\n"


@pytest.mark.parametrize(("where", "status"), [("", 0), ("gone", 3)])
def test_a_good_result_whose_file_is_missing_is_not_good(folder, where, status):
    (folder / "gone").mkdir()
    words = arguments(str(folder), "--json", str(folder / where / "a.json"))
    (folder / "gone").rmdir()
    result = replace(made.run(), verdict=Verdict.OK)
    assert outputs.Outputs(words, io.StringIO(), io.StringIO()).show(result) == status


def test_the_page_goes_into_the_run_folder(tmp_path):
    outputs.Outputs(arguments("x"), io.StringIO(), io.StringIO()).show(replace(made.run(), folder=str(tmp_path)))
    assert (tmp_path / "index.html").read_text().startswith("<!doctype html>")


def test_a_device_is_written_and_not_replaced(tmp_path):
    outputs.write_whole(Path("/dev/null"), "text")
    assert Path("/dev/null").is_char_device()


@pytest.mark.parametrize(("place", "problem"), [("nowhere/a.json", "there is no folder"), (".", "is a folder")])
def test_a_place_that_cannot_be_written_is_refused_at_once(folder, capsys, place, problem):
    with pytest.raises(SystemExit):
        arguments(str(folder), "--json", str(folder / place))
    assert problem in capsys.readouterr().err


def test_what_is_no_result_is_named(capsys, tmp_path):
    binary = tmp_path / "binary"
    binary.write_bytes(b"\x7fELF\xd0\x00")
    told = {
        tmp_path: "there is no result.json in this folder; the folder of a run has one",
        tmp_path / "nothing": "No such file or directory",
        binary: "this is no text, and so no result of kvgate",
    }
    for path, reason in told.items():
        parser = argparse.ArgumentParser()
        command.add_arguments(parser)
        assert command.run(parser.parse_args([str(path)])) == 2
        assert capsys.readouterr().err == f"kvgate report: {path}: {reason}\n"
