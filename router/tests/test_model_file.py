"""Model files are told apart by their size and by pieces of them, and only where they are on this host."""

import os

import pytest

from router.model_file import N_PIECES, PIECE_BYTES, mark_of

HERE = "http://127.0.0.1:8080"


@pytest.fixture
def weights():
    return os.urandom(N_PIECES * PIECE_BYTES * 3)


def mark(tmp_path, data, url=HERE):
    path = tmp_path / "m.gguf"
    path.write_bytes(data)
    return mark_of(str(path), url)


def test_a_copy_has_the_same_mark(tmp_path, weights):
    assert mark(tmp_path, weights) == mark(tmp_path, bytes(weights)) is not None


def test_another_size_another_end_and_other_weights_are_seen(tmp_path, weights):
    one = mark(tmp_path, weights)
    assert one != mark(tmp_path, weights + b"\0")
    assert one != mark(tmp_path, weights[:-1] + bytes([weights[-1] ^ 1]))
    assert one != mark(tmp_path, weights[:4096] + os.urandom(len(weights) - 4096))


@pytest.mark.parametrize("data", [b"", b"x", b"x" * PIECE_BYTES])
def test_a_small_file_has_one_too(tmp_path, data):
    assert mark(tmp_path, data) == mark(tmp_path, data) is not None


@pytest.mark.parametrize("url", ["http://localhost:1", "https://[::1]:1", "http://127.1.2.3"])
def test_names_of_this_host(tmp_path, url):
    assert mark(tmp_path, b"x", url) is not None


@pytest.mark.parametrize("url", ["http://10.0.0.7:8080", "http://gpu-box:8080", "http://localhost.example"])
def test_another_hosts_path_means_nothing_here(tmp_path, url):
    assert mark(tmp_path, b"x", url) is None


def test_what_cannot_be_read_has_none(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "m.gguf").write_bytes(b"x")
    monkeypatch.chdir(tmp_path)
    for path in (None, "toy", "m.gguf", str(tmp_path), str(tmp_path / "pipe"), str(tmp_path / "none"), "/a\0b"):
        assert mark_of(path, HERE) is None
