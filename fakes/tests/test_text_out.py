"""Text that goes out: never a part of a stop word, never half a character."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakes.text_out import TextOut


def run(pieces: list[bytes], stop: tuple[str, ...] = ()) -> tuple[list[str], str]:
    out, parts = TextOut(stop), []
    for piece in pieces:
        parts.append(out.feed(piece))
        if out.stopped_by:
            return parts, out.stopped_by
    return [*parts, out.end()], ""


def test_what_may_become_a_stop_word_waits():
    assert run([b" one", b" STO", b"RY"], ("STOP",)) == ([" one", " ", "STORY", ""], "")
    assert run([b" one", b" STO", b"Px"], ("STOP",)) == ([" one", " ", ""], "STOP")


def test_the_first_of_several_stop_words_counts():
    assert run([b"a b c"], ("c", "b")) == (["a "], "b")


def test_a_character_waits_until_it_is_whole():
    euro = "€".encode()
    assert run([b"a" + euro[:1], euro[1:2], euro[2:]]) == (["a", "", "€", ""], "")
    assert run([euro[:2]]) == (["", "\ufffd"], "")


@given(st.text(max_size=30), st.integers(1, 4))
def test_without_a_stop_word_nothing_is_lost(text, size):
    data = text.encode()
    parts, _ = run([data[at : at + size] for at in range(0, len(data), size)])
    assert "".join(parts) == text


@pytest.mark.parametrize("size", [1, 2, 3, 20])
def test_any_pieces_give_the_same_text(size):
    data = "the ottér STO counts STOP seven".encode()
    parts, stopped_by = run([data[at : at + size] for at in range(0, len(data), size)], ("STOP",))
    assert ("".join(parts), stopped_by) == ("the ottér STO counts ", "STOP")
