"""Private files: who may name, read and sweep them."""

import os
import stat

from router.private_files import MAX_SOCKET_PATH, Place, RuntimeFolder, sweep


def test_a_new_file_is_private_and_its_name_unlike_any_other(tmp_path):
    place = Place(tmp_path, "aa")
    one, other = place.new_file(".bin"), place.new_file(".bin")
    assert one != other
    assert stat.S_IMODE(one.stat().st_mode) == 0o600
    assert len(one.name) <= 255
    place.close()


def test_strays_of_dead_routers_are_swept_and_those_of_living_ones_are_not(tmp_path):
    living, dead = Place(tmp_path, "aa"), Place(tmp_path, "bb")
    kept, stray = living.new_file(".bin"), dead.new_file(".bin")
    os.close(dead._lock)  # what the kernel does when a router is killed
    foreign = tmp_path / "somebody-else.bin"
    foreign.touch()
    assert sweep(tmp_path) == [stray.name]
    assert kept.exists()
    assert foreign.exists()
    assert sorted(p.name for p in tmp_path.glob("*.lock")) == ["kvgate-aa.lock"]
    living.close()


def test_a_sweep_follows_no_link(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").touch()
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "kvgate-bb.lock").touch()
    (inside / "kvgate-bb-run").symlink_to(outside)
    (inside / "kvgate-cc.lock").symlink_to(outside / "precious")
    assert sweep(inside) == ["kvgate-bb-run"]
    assert (outside / "precious").exists()
    assert (inside / "kvgate-cc.lock").is_symlink()


def test_nothing_is_left_when_a_router_ends(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    runtime = RuntimeFolder("ab" * 8)
    folder = runtime.fresh_folder()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    runtime.close()
    assert list(tmp_path.iterdir()) == []


def test_a_long_folder_for_temporary_files_does_not_make_a_socket_impossible(tmp_path, monkeypatch):
    deep = tmp_path / ("x" * 100)
    deep.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(deep))
    runtime = RuntimeFolder("cd" * 8)
    assert len(os.fsencode(runtime.fresh_folder() / "s")) <= MAX_SOCKET_PATH
    runtime.close()
