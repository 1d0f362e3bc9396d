"""API keys: who is let in, and what a key file may hold."""

import pytest

from router.errors import ConfigError
from router.keys import KeyRing, read_keys


@pytest.mark.parametrize(
    ("authorization", "x_api_key", "admitted"),
    [
        ("Bearer one", None, True),
        ("two", None, True),
        (None, "one", True),
        ("Bearer three", None, False),
        ("Bearer three", "one", False),
        ("bearer one", None, False),
        ("Bearer ", None, False),
        (None, None, False),
        ("Bearer \udcff", None, False),
    ],
)
def test_who_is_let_in(authorization, x_api_key, admitted):
    assert KeyRing(("one", "two")).admits(authorization, x_api_key) is admitted


def test_without_keys_everybody():
    assert KeyRing(()).admits(None, None)


def test_every_key_is_compared_whichever_fits(monkeypatch):
    compared = []
    monkeypatch.setattr("router.keys.hmac.compare_digest", lambda a, b: compared.append(b) or a == b)
    KeyRing(("one", "two", "three")).admits("Bearer one", None)
    assert len(compared) == 3


def test_a_key_file(tmp_path):
    path = tmp_path / "keys"
    path.write_text("# ours\none\n\n  two \n")
    assert read_keys("--api-key-file", path) == ("one", "two")


@pytest.mark.parametrize("text", ["", "# none\n", "with blank\n", "schlüssel\n"])
def test_a_file_without_a_proper_key_is_refused(tmp_path, text):
    path = tmp_path / "keys"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match="--api-key-file"):
        read_keys("--api-key-file", path)
