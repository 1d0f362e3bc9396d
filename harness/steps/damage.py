"""Changes a file on purpose, as a disk, a cut transfer or a foreign program would."""

from __future__ import annotations

from pathlib import Path

from harness.errors import HarnessError
from harness.steps.spec import Damage


def damage(path: Path, how: Damage) -> None:
    """HarnessError where there is nothing to damage."""
    if how.write is not None:
        path.write_text(how.write, encoding="utf-8")
        return
    try:
        before = path.read_bytes()
    except OSError as error:
        raise HarnessError(f"{path.name} cannot be damaged: {error.strerror}") from error
    after = _changed(before, how)
    if after == before:
        raise HarnessError(f"{path.name} has {len(before)} bytes, too few to be damaged as asked")
    path.write_bytes(after)


def _changed(data: bytes, how: Damage) -> bytes:
    if how.keep_bytes is not None:
        return data[: how.keep_bytes]
    if how.flip_bytes is not None:
        # Well inside the rows: the head is checked by decoders, the rows are not.
        start = len(data) * 3 // 5
        flipped = bytes(byte ^ 0xFF for byte in data[start : start + how.flip_bytes])
        return data[:start] + flipped + data[start + how.flip_bytes :]
    changed = bytearray(data)
    for offset, number in how.write_u32.items():
        changed[offset : offset + 4] = number.to_bytes(4, "little")
    return bytes(changed)
