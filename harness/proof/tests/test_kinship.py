"""Two builds that are one, and one that was stitched from two trees."""

import subprocess
from pathlib import Path

import pytest

from harness.proof.kinship import stitched, the_same
from harness.result import BuildInfo


def build(name: str, **fingerprint: object) -> BuildInfo:
    return BuildInfo(name, ("router",), fingerprint)


def test_the_same_content_started_the_same_way_is_one_build():
    builds = [build("base", digest="a" * 64), build("fix", digest="b" * 64), build("all", digest="a" * 64)]
    assert list(the_same(builds)) == [f"base and all are one and the same build ({'a' * 12})"]


def test_what_could_not_be_fingerprinted_is_not_called_the_same():
    assert list(the_same([build("old"), build("new")])) == []


@pytest.fixture
def trees(tmp_path: Path) -> tuple[Path, Path]:
    """The tree a ref was built in, and another one."""
    for name in ("built/src", "mine"):
        subprocess.run(["git", "init", "-q", str(tmp_path / name)], check=True)
    return tmp_path / "built" / "src", tmp_path / "mine"


def of_a_ref(source: Path, **fingerprint: object) -> BuildInfo:
    return build("old", built_from={"ref": "before", "source": str(source)}, **fingerprint)


def test_a_build_of_a_ref_that_loads_code_of_another_tree_is_told(trees):
    source, mine = trees
    modules = {str(mine / "router"): {}, str(mine / "wire"): {}, str(source / "main.py"): {}}
    told = list(stitched([of_a_ref(source, python="3.11.7", path=str(mine / "bin/python3"), modules=modules)]))
    assert told == [f"old was built from before, but runs what lies in {mine}: router, wire"]


def test_a_library_of_another_tree_is_told(trees):
    source, mine = trees
    program, library = source.parent / "build" / "server", mine / "build" / "libggml.so"
    told = list(stitched([of_a_ref(source, path=str(program), libraries=[{"path": str(library)}])]))
    assert told == [f"old was built from before, but runs what lies in {mine}: build/libggml.so"]


def test_what_is_installed_beside_its_own_tree_is_no_other_tree(trees):
    source, mine = trees
    installed = mine / ".venv/lib/python3.11/site-packages/aiohttp"
    build_of_ref = of_a_ref(
        source,
        python="3.11.7",
        path=str(mine / "bin/python3"),
        modules={str(installed): {}, str(source / "router"): {}},
    )
    assert list(stitched([build_of_ref])) == []


def test_a_command_that_was_not_built_here_belongs_to_no_tree(trees):
    _, mine = trees
    assert list(stitched([build("old", modules={str(mine / "router"): {}})])) == []
