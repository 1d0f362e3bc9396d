"""Fingerprints of real programs: what is in them, and that every way a build can move under a run is named."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from harness.proof.provenance import Provenance, moved_together, take_together


def git(tree: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@localhost", "-c", "commit.gpgsign=false")
    subprocess.run(("git", "-C", tree, *identity, *arguments), check=True, capture_output=True)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A committed tree with a small package, a script that uses it, and a module that nothing names literally."""
    tree = tmp_path / "tree"
    package = tree / "acme_router"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "core.py").write_text("from . import table\n")
    (package / "table.py").write_text("ROWS = 1\n")
    (package / "plugin.py").write_text("ROWS = 2\n")
    (tree / "start.py").write_text("def main():\n    import acme_router.core\n")
    git(tree, "init", "-q")
    git(tree, "add", ".")
    git(tree, "commit", "-qm", "first")
    return tree


def provenance(tree: Path, *command: str) -> Provenance:
    return Provenance(command or (sys.executable, "start.py"), cwd=tree)


def names(paths) -> list[str]:
    return [Path(fact.path).name for fact in paths]


def test_a_script_is_known_by_every_module_of_the_packages_it_loads(tree):
    taken = provenance(tree).take()
    assert names(taken.modules) == ["__init__.py", "core.py", "plugin.py", "table.py"]
    assert names(taken.arguments) == ["start.py"]
    assert taken.program is not None
    assert taken.program.path == os.path.realpath(sys.executable)
    assert [(found.root, found.changes) for found in taken.trees if found.root == str(tree)] == [(str(tree), None)]


def test_a_module_run_by_name_is_known_the_same_way(tree):
    taken = provenance(tree, sys.executable, "-Wignore", "-m", "acme_router.core").take()
    assert names(taken.modules) == ["__init__.py", "core.py", "plugin.py", "table.py"]


def test_a_console_script_is_followed_through_its_first_line(tree):
    script = tree / "router"
    script.write_text(f"#!{sys.executable}\nimport acme_router.core\n")
    script.chmod(0o755)
    taken = provenance(tree, "./router", "--port", "0").take()
    assert taken.program is not None
    assert taken.program.path == str(script)
    assert "table.py" in names(taken.modules)


def test_nothing_moves_while_nothing_is_touched(tree):
    watcher = provenance(tree)
    before = watcher.take()
    assert watcher.moved_since(before) == ()
    (tree / "result.json").write_text("{}")
    assert watcher.moved_since(before) == (), "files beside the tracked ones are no part of the build"


def edit_module(tree: Path) -> str:
    (tree / "acme_router" / "table.py").write_text("ROWS = 9\n")
    return "acme_router/table.py changed"


def edit_module_keeping_its_time(tree: Path) -> str:
    path = tree / "acme_router" / "table.py"
    old = path.stat()
    path.write_text("ROWS = 9\n")
    os.utime(path, ns=(old.st_atime_ns, old.st_mtime_ns))
    return "acme_router/table.py changed"


def write_script_again(tree: Path) -> str:
    path = tree / "start.py"
    text = path.read_text()
    path.unlink()
    path.write_text(text)
    return "start.py was written again with the same content"


def add_module(tree: Path) -> str:
    (tree / "acme_router" / "late.py").write_text("")
    return "acme_router/late.py was not there before"


def remove_module(tree: Path) -> str:
    (tree / "acme_router" / "plugin.py").unlink()
    return "acme_router/plugin.py is gone"


def switch_tree(tree: Path) -> str:
    edit_module(tree)
    git(tree, "commit", "-qam", "second")
    return f"the git tree {tree} went from"


@pytest.mark.parametrize(
    "move",
    [edit_module, edit_module_keeping_its_time, write_script_again, add_module, remove_module, switch_tree],
)
def test_every_move_is_named(tree, move):
    watcher = provenance(tree)
    before = watcher.take()
    expected = move(tree)
    assert any(expected in line for line in watcher.moved_since(before)), watcher.moved_since(before)


def test_an_edit_of_a_tracked_file_that_is_already_changed_is_seen(tree):
    (tree / "acme_router" / "table.json").write_text("1")
    git(tree, "add", ".")
    watcher = provenance(tree)
    before = watcher.take()
    (tree / "acme_router" / "table.json").write_text("2")
    assert watcher.moved_since(before) == (f"tracked files in {tree} were edited",)


def test_the_rest_of_a_tree_may_move_under_a_program_that_is_known_by_its_files(tree):
    (tree / "docs").mkdir()
    (tree / "docs" / "page").write_text("one")
    git(tree, "add", ".")
    git(tree, "commit", "-qm", "docs")
    watcher = provenance(tree)
    before = watcher.take()
    (tree / "docs" / "page").write_text("two")
    assert watcher.moved_since(before) == ()
    git(tree, "commit", "-qam", "more docs")
    assert watcher.moved_since(before) == ()


def test_a_compiled_program_is_tainted_by_any_switch_of_its_tree(binary):
    tree = binary.parent.parent
    watcher = provenance(binary.parent, str(binary))
    before = watcher.take()
    git(tree, "commit", "-qm", "nothing", "--allow-empty")
    assert watcher.moved_since(before)[0].startswith(f"the git tree {tree} went from")


def test_a_changed_tree_is_warned_about(tree):
    (tree / "start.py").write_text("import acme_router\n")
    (warning,) = [line for line in provenance(tree).take().warnings if str(tree) in line]
    assert "1 changed file(s)" in warning


@pytest.fixture
def binary(tree: Path) -> Path:
    """A compiled program inside the tree, older than its sources."""
    binary = tree / "bin" / "decoder"
    binary.parent.mkdir()
    shutil.copy(shutil.which("true") or "/bin/true", binary)
    os.utime(binary, (1_000_000_000, 1_000_000_000))
    return binary


def test_a_compiled_program_has_build_id_and_libraries(binary):
    taken = provenance(binary.parent, str(binary)).take()
    assert taken.elf is not None
    listed = subprocess.run(("readelf", "-n", binary), capture_output=True, text=True, check=True).stdout
    assert f"Build ID: {taken.elf.build_id}" in listed
    assert any(name.startswith("libc.so") for name in names(taken.libraries))
    assert taken.modules == ()


def test_sources_newer_than_the_program_are_warned_about(binary):
    assert any(
        "5 source file(s)" in line and "newer" in line
        for line in provenance(binary.parent, str(binary)).take().warnings
    )


def test_a_program_built_out_of_tree_is_traced_to_its_sources(tree, tmp_path):
    build = tmp_path / "build"
    (build / "bin").mkdir(parents=True)
    shutil.copy(shutil.which("true") or "/bin/true", build / "bin" / "decoder")
    (build / "CMakeCache.txt").write_text(f"CMAKE_HOME_DIRECTORY:INTERNAL={tree}\n")
    watcher = provenance(build, "bin/decoder")
    before = watcher.take()
    switch_tree(tree)
    assert any(str(tree) in line for line in watcher.moved_since(before))


def test_a_rewritten_binary_and_a_plugin_beside_it_are_seen(binary):
    watcher = provenance(binary.parent, str(binary))
    before = watcher.take()
    binary.write_bytes(binary.read_bytes() + b"\0")
    (binary.parent / "libggml-cpu.so").write_bytes(b"")
    moved = watcher.moved_since(before)
    assert any(line.startswith(f"{binary} changed") for line in moved)
    assert any("libggml-cpu.so" in line for line in moved)


def test_a_program_that_is_not_there_is_a_warning_and_no_crash(tmp_path):
    taken = provenance(tmp_path, "./nowhere", "--port", "0").take(with_version=True)
    assert taken.program is None
    assert taken.warnings == ("./nowhere: no such program",)


def test_a_word_that_is_no_file_name_is_no_crash(tree):
    assert provenance(tree, sys.executable, "-c", "import acme_router  # " + "x" * 5000, "a\0b").take().modules


def test_the_digest_follows_content_and_not_place_or_time(tree, tmp_path):
    first = provenance(tree).take().digest
    copy = tmp_path / "copy"
    shutil.copytree(tree, copy)
    assert provenance(copy).take().digest == first
    edit_module(copy)
    assert provenance(copy).take().digest != first


def test_the_digest_tells_programs_of_the_same_files_apart(tree):
    commands = [("-m", "acme_router.core"), ("-m", "acme_router.plugin"), ("-m", "acme_router.core", "--strict")]
    assert len({provenance(tree, sys.executable, *words).take().digest for words in commands}) == 3


def test_a_package_that_is_only_gone_through_is_not_the_program(tree):
    inner = tree / "outer" / "inner"
    inner.mkdir(parents=True)
    for file in (
        tree / "outer" / "__init__.py",
        tree / "outer" / "test_it.py",
        inner / "__init__.py",
        inner / "run.py",
    ):
        file.write_text("")
    taken = names(provenance(tree, sys.executable, "-m", "outer.inner.run").take().modules)
    assert taken == ["__init__.py", "__init__.py", "run.py"]
    (tree / "outer" / "__init__.py").write_text("import pkgutil\n")
    assert "test_it.py" in names(provenance(tree, sys.executable, "-m", "outer.inner.run").take().modules)


def test_the_version_is_what_the_program_prints(tree):
    assert provenance(tree, sys.executable).take(with_version=True).version == f"Python {sys.version.split()[0]}"


def test_a_program_that_serves_instead_of_telling_its_version_is_ended(tree, monkeypatch):
    marker = tree / "pid"
    (tree / "start.py").write_text(
        f"import os, signal\nopen({str(marker)!r}, 'w').write(str(os.getpid()))\nsignal.pause()\n"
    )
    monkeypatch.setattr("harness.proof.version_output._DEADLINE_S", 2.0)
    assert provenance(tree).take(with_version=True).version is None
    with pytest.raises(ProcessLookupError):
        os.kill(int(marker.read_text()), 0)


def test_builds_looked_at_together_are_known_as_if_each_were_alone(tree):
    (tree / "other.py").write_text("import acme_router.table\n")
    builds = {
        "one": provenance(tree),
        "other": provenance(tree, sys.executable, "other.py"),
        "git": provenance(tree, "git"),
    }
    assert take_together(builds) == {name: build.take() for name, build in builds.items()}


def test_what_moved_under_several_builds_is_said_once(tree):
    (tree / "other.py").write_text("print()\n")
    git(tree, "add", "other.py")
    git(tree, "commit", "-qm", "second")
    builds = {"one": provenance(tree), "again": provenance(tree), "other": provenance(tree, sys.executable, "other.py")}
    before = take_together(builds)
    assert moved_together(builds, before) == ()
    (tree / "acme_router" / "table.py").write_text("ROWS = 3\n")
    moved = moved_together(builds, before)
    assert len(moved) == len(set(moved))
    assert [line for line in moved if "table.py changed" in line]
    assert not [line for line in moved if "other.py" in line]
