"""The file of prompts: a prompt a line, and errors that name the line."""

from pathlib import Path

import pytest

from harness.errors import UsageError
from harness.proof.parity.prompts import read


def test_text_and_ids_a_line_each(tmp_path: Path) -> None:
    (tmp_path / "p").write_text("once upon\n\n[1, 2, 3]\n")
    assert read(tmp_path / "p") == ("once upon", (1, 2, 3))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("\n \n", "holds no prompt"),
        ("ok\n[1,\n", ":2: no JSON list"),
        ("[]\n", ":1: expected token ids"),
        ("[1, true]\n", ":1: expected token ids"),
        ("[-1]\n", ":1: expected token ids"),
    ],
)
def test_what_is_no_prompt_is_refused(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "p").write_text(text)
    with pytest.raises(UsageError, match=said):
        read(tmp_path / "p")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        read(tmp_path / "none")
