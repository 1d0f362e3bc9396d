"""ELF headers: read from real programs elsewhere, here every cut and lie must end in NotElf or in values."""

import shutil
import struct

import pytest

from harness.proof.elf import Elf, NotElf, read_elf


def small_elf(order: str, wide: bool, build_id: bytes) -> bytes:
    """A file with one interpreter segment and one note, laid down by hand from the ELF specification."""
    interpreter = b"/lib/ld.so\0"
    note = struct.pack(order + "III", 4, len(build_id), 3) + b"GNU\0" + build_id
    header_size, entry_size = (64, 56) if wide else (52, 32)
    first = header_size + 2 * entry_size
    word = "Q" if wide else "I"
    header = b"\x7fELF" + bytes([2 if wide else 1, 1 if order == "<" else 2, 1]) + bytes(9)
    header += struct.pack(
        order + "HHI" + word * 3 + "IHHHHHH", 2, 62, 1, 0, header_size, 0, 0, header_size, entry_size, 2, 0, 0, 0
    )

    def segment(kind: int, offset: int, size: int) -> bytes:
        if wide:
            return struct.pack(order + "IIQQQQQQ", kind, 4, offset, 0, 0, size, size, 1)
        return struct.pack(order + "IIIIIIII", kind, offset, 0, 0, size, size, 4, 1)

    table = segment(3, first, len(interpreter)) + segment(4, first + len(interpreter), len(note))
    return header + table + interpreter + note


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("wide", [True, False])
def test_every_class_and_byte_order_is_read(order, wide):
    assert read_elf(small_elf(order, wide, b"\xab\xcd")) == Elf("abcd", "/lib/ld.so")


def test_every_cut_is_refused():
    whole = small_elf("<", True, b"\x01\x02\x03\x04")
    for size in range(len(whole)):
        with pytest.raises(NotElf):
            read_elf(whole[:size])


def test_a_script_is_not_elf():
    with pytest.raises(NotElf):
        read_elf(b"#!/bin/sh\n" + b" " * 100)


def test_a_note_that_claims_more_than_it_has_ends():
    whole = bytearray(small_elf("<", True, b"\x01\x02\x03\x04"))
    at = whole.index(b"GNU\0") - 8
    whole[at : at + 4] = struct.pack("<I", 0xFFFFFFF0)
    assert read_elf(bytes(whole)).interpreter == "/lib/ld.so"


def test_a_real_program_is_read():
    with open(shutil.which("true") or "/bin/true", "rb") as file:
        assert "ld" in (read_elf(file.read()).interpreter or "")
