"""What an ELF file says about itself: its build id and the program that loads its libraries.

Bytes in, values out. It reads 64-bit and 32-bit files of either byte order and believes no offset that
lies outside the file. It does not resolve libraries: only the loader of the machine knows how.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from mmap import mmap

MAGIC = b"\x7fELF"
_PT_INTERP, _PT_NOTE, _NT_GNU_BUILD_ID = 3, 4, 3
_MAX_SEGMENTS = 512


@dataclass(frozen=True, slots=True)
class Elf:
    """`interpreter` is None for a static program; `build_id` is None when the linker was not asked for one."""

    build_id: str | None
    interpreter: str | None


class NotElf(Exception):
    """The bytes are no ELF file, or one whose headers point outside of it."""


def read_elf(data: bytes | mmap) -> Elf:
    build_id = interpreter = None
    for kind, offset, size in _segments(data):
        content = data[offset : offset + size]
        if len(content) != size:
            raise NotElf(f"a segment of {size} bytes at {offset} lies outside the file of {len(data)} bytes")
        if kind == _PT_INTERP:
            interpreter = content.rstrip(b"\0").decode("utf-8", "replace")
        elif kind == _PT_NOTE and build_id is None:
            build_id = _build_id(content, _order(data))
    return Elf(build_id, interpreter)


def _order(data: bytes | mmap) -> str:
    return "<" if data[5] == 1 else ">"


def _segments(data: bytes | mmap) -> list[tuple[int, int, int]]:
    """Type, offset and size of the segments that are read: the interpreter and the notes."""
    if data[:4] != MAGIC or len(data) < 52 or data[4] not in (1, 2):
        raise NotElf("no ELF header")
    order, wide = _order(data), data[4] == 2
    try:
        (table,) = struct.unpack_from(order + ("Q" if wide else "I"), data, 32 if wide else 28)
        entry_size, count = struct.unpack_from(order + "HH", data, 54 if wide else 42)
        entries = [_segment(data, order, wide, table + i * entry_size) for i in range(min(count, _MAX_SEGMENTS))]
    except struct.error as error:
        raise NotElf(f"the program headers lie outside the file: {error}") from None
    return [entry for entry in entries if entry[0] in (_PT_INTERP, _PT_NOTE)]


def _segment(data: bytes | mmap, order: str, wide: bool, at: int) -> tuple[int, int, int]:
    if wide:
        kind, _flags, offset, _virtual, _physical, size = struct.unpack_from(order + "IIQQQQ", data, at)
    else:
        kind, offset, _virtual, _physical, size = struct.unpack_from(order + "IIIII", data, at)
    return kind, offset, size


def _build_id(notes: bytes, order: str) -> str | None:
    at = 0
    while at + 12 <= len(notes):
        name_size, value_size, kind = struct.unpack_from(order + "III", notes, at)
        name_at = at + 12
        value_at = name_at + (name_size + 3) // 4 * 4
        if kind == _NT_GNU_BUILD_ID and notes[name_at : name_at + 4] == b"GNU\0":
            return notes[value_at : value_at + value_size].hex()
        at = value_at + (value_size + 3) // 4 * 4
    return None
