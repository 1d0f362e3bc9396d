"""What is left of an answer when its texts and numbers are replaced by their types, and who gives such answers."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gates.fuzz.http import running
from harness.conform.decoder import Decoder, find_decoder
from harness.conform.setting import Setting
from harness.errors import Unavailable
from harness.models import model_file
from harness.pytest_plugin import asked_for_real


def shape(value: Any) -> Any:
    """Types in the place of values; what repeats in a list is said once."""
    if isinstance(value, dict):
        return {key: shape(each) for key, each in sorted(value.items())}
    if isinstance(value, list):
        return folded(map(shape, value))
    return "number" if isinstance(value, int | float) and not isinstance(value, bool) else type(value).__name__


def folded(values: Iterable[Any]) -> list[Any]:
    """What comes several times in a row once."""
    found: list[Any] = []
    for value in values:
        if not found or found[-1] != value:
            found.append(value)
    return found


def the_fake(flags: str = "") -> Decoder:
    return find_decoder(f"fake {flags}", "")


def a_real_server(config: pytest.Config, name: str = "xllamacpp") -> Decoder:
    """A real server with the smallest model."""
    with unless_missing(config):
        return find_decoder(name, str(model_file("tiny-llama", download=True)))


@contextlib.contextmanager
def unless_missing(config: pytest.Config) -> Iterator[None]:
    """What this machine does not have is a reason to skip, and an error where the real set was asked for."""
    try:
        yield
    except Unavailable as missing:
        if asked_for_real(config):
            raise
        pytest.skip(str(missing))


@contextlib.contextmanager
def serving(decoder: Decoder, setting: Setting) -> Iterator[tuple[int, Path]]:
    """Its port, and the folder of its slot files, while it serves."""
    with tempfile.TemporaryDirectory() as folder:
        slots = Path(folder) / "slots"
        slots.mkdir()
        assert decoder.server is not None
        argv = (*decoder.server.argv, *decoder.words(setting.words(slots)), *decoder.server.flags)
        with running(argv, Path(folder) / "decoder.log") as server:
            yield server.port, slots
