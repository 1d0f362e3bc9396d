"""What differs between builds, as the fake plays it."""

from __future__ import annotations

import pytest

from fakes.builds import BUILDS, build_of
from fakes.tests.stage import Stage


def test_a_build_between_two_is_like_the_older():
    assert build_of("b11500") is BUILDS[11434]
    assert build_of("b11434") is BUILDS[11434]
    assert build_of("b99999") is BUILDS[11549]


@pytest.mark.parametrize(("version", "number"), [("b10566", 2), ("b11063", 3), ("b11434", 4), ("b11549", 4)])
def test_a_file_has_the_builds_version(version, number):
    stage = Stage("--fake-version", version)
    stage.complete([400, 401, 402], id_slot=0)
    assert stage.post("/slots/0?action=save", {"filename": "a.bin"})[0] == 200
    assert stage.files.files["/a.bin"][4] == number


def test_a_file_of_another_version_is_refused():
    old, new = Stage("--fake-version", "b11063"), Stage()
    old.complete([400, 401, 402], id_slot=0)
    old.post("/slots/0?action=save", {"filename": "a.bin"})
    assert old.post("/slots/1?action=restore", {"filename": "a.bin"})[0] == 200
    new.files = old.files
    new.machine.files = old.files
    status, answer = new.post("/slots/1?action=restore", {"filename": "a.bin"})
    assert status == 400
    assert "Unable to restore slot" in answer["error"]["message"]


def test_only_newer_builds_say_what_goes_in_and_out():
    assert "architecture" in Stage().get("/v1/models")[1]["data"][0]
    assert "architecture" not in Stage("--fake-version", "b11063").get("/v1/models")[1]["data"][0]
