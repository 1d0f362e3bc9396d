"""The cache: whole files or none, one maker at a time."""

import errno
import hashlib
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from harness.models import cache
from harness.models.errors import CacheError


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KVGATE_CACHE", str(tmp_path / "cache"))


def test_the_folder_moves_with_each_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cache.root() == tmp_path / "cache"
    monkeypatch.delenv("KVGATE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache.root() == tmp_path / "xdg" / "kvgate"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache.root() == tmp_path / "home" / ".cache" / "kvgate"


def test_nothing_is_there_after_a_failure(tmp_path: Path) -> None:
    def failing() -> None:
        with cache.installing(tmp_path / "model") as partial:
            partial.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        failing()
    assert list(tmp_path.iterdir()) == []


def test_the_old_file_stays_until_the_new_one_is_whole(tmp_path: Path) -> None:
    place = tmp_path / "model"
    place.write_text("old")
    with cache.installing(place) as partial:
        partial.write_text("new")
        assert place.read_text() == "old"
    assert place.read_text() == "new"


def test_a_full_disk_is_one_line_that_names_the_place(tmp_path: Path) -> None:
    with pytest.raises(CacheError, match="no space left on the disk of"), cache.installing(tmp_path / "m"):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_write_that_came_up_short_is_one_line_too(tmp_path: Path) -> None:
    said = "cannot write .*/m: 10 requested and 9 written"
    with pytest.raises(CacheError, match=said), cache.installing(tmp_path / "m"):
        raise OSError("10 requested and 9 written")


def test_what_cannot_fit_is_not_begun(tmp_path: Path) -> None:
    with pytest.raises(CacheError, match="MB are needed"):
        cache.room_for(1 << 60, tmp_path)


def test_a_cache_that_is_no_folder_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("KVGATE_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(CacheError, match="KVGATE_CACHE moves the cache"):
        cache.root()


def test_the_next_holder_sweeps_what_a_dead_one_left(tmp_path: Path) -> None:
    place = tmp_path / "model"
    stray = tmp_path / f".model{cache.PARTIAL}4711"
    (stray / "deep").mkdir(parents=True)
    other = tmp_path / f".other{cache.PARTIAL}4711"
    other.write_text("not mine")
    with cache.locked(place):
        assert not stray.exists()
    assert other.exists()


def test_a_lock_held_elsewhere_is_waited_for_until_the_deadline(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "model"
    holder = (
        "import sys; from pathlib import Path; from harness.models import cache\n"
        f"with cache.locked(Path({str(place)!r})): print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen([sys.executable, "-c", holder], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        with pytest.raises(CacheError, match="somebody else still holds it"), cache.locked(place, deadline_s=0.2):
            pass
        assert process.stdin is not None
        waited = threading.Timer(0.2, process.stdin.close)
        waited.start()
        with cache.locked(place, deadline_s=30.0):
            pass
        waited.join()
    assert "waiting for" in capsys.readouterr().err


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "model"
    path.write_bytes(b"right")
    digest = hashlib.sha256(b"right").hexdigest()
    assert cache.has_digest(path, digest)
    path.write_bytes(b"wrong")
    os.utime(path, ns=(1, 1))
    assert not cache.has_digest(path, digest)


def test_a_checked_file_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model"
    path.write_bytes(b"right")
    digest = hashlib.sha256(b"right").hexdigest()
    assert cache.has_digest(path, digest)
    monkeypatch.setattr(cache, "sha256_of", lambda _path: pytest.fail("read again"))
    assert cache.has_digest(path, digest)


def test_two_threads_may_write_the_same_place_at_once(tmp_path: Path) -> None:
    place = tmp_path / "launcher.py"
    with cache.installing(place) as first, cache.installing(place) as second:
        assert first != second
        first.write_text("whole")
        second.write_text("whole")
    assert place.read_text() == "whole"
    assert list(tmp_path.iterdir()) == [place]
