"""Foreign text on one line."""

from router.one_line import one_line


def test_control_characters_are_escaped():
    assert one_line(b"a\nb\r\x1b[31m\x00c\xe2\x80\xa8d") == "a\\nb\\r\\x1b[31m\\x00c\\u2028d"


def test_it_is_cut_by_bytes_and_never_inside_a_character():
    assert one_line(b"x" * 301) == "x" * 300
    assert one_line("é".encode() * 151) == "é" * 150
    assert one_line(b"x" + "é".encode() * 150) == "x" + "é" * 149


def test_what_is_no_text_is_shown_all_the_same():
    assert one_line(b"a\xff\xfeb") == "a\ufffd\ufffdb"
