"""Command lines of curl, as a reader would type them, run by curl itself against any server.

The lines are written for `localhost:8080`; curl connects to where the server really listens.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from gates.shapes import folded, serving, shape
from harness.conform.decoder import Decoder
from harness.conform.setting import SETTINGS
from harness.conform.wire_client import Answer
from harness.errors import Unavailable

LINES = Path(__file__).with_name("curl_lines.yaml")
TYPED_FOR = "localhost:8080"
AT_MOST_S = 30
_VALUE_OR_WORDS = re.compile(r"^(# HELP \S+|\w\S*) .*$")
"""What may follow a metric's name, and what may follow its help."""


@dataclass(frozen=True, slots=True)
class Line:
    """One row of the table; `has` are the keys that its answer has."""

    says: str
    status: int
    words: tuple[str, ...]
    has: tuple[str, ...] = ()
    server: str = "plain"
    differs: str = ""


@dataclass(frozen=True, slots=True)
class Seen:
    """An answer: its status, content type, keys, and the shape of its body."""

    status: int
    content_type: str
    keys: frozenset[str]
    shape: Any


def lines() -> tuple[Line, ...]:
    """The table."""
    return tuple(_line(**row) for row in yaml.safe_load(LINES.read_text(encoding="utf-8")))


def _line(says: str, status: int, curl: str, has: str = "", **more: str) -> Line:
    return Line(says, status, tuple(shlex.split(curl)), tuple(has.split()), **more)


def find_curl() -> str:
    """The program. Unavailable: it is not there."""
    found = shutil.which("curl")
    if found is None:
        raise Unavailable("there is no curl on PATH", "apt-get install curl")
    return found


def answers(decoder: Decoder) -> dict[str, Seen]:
    """What the decoder answers to every line, one after the other, by what is asked."""
    curl, table = find_curl(), lines()
    return {says: seen for name in SETTINGS for says, seen in _asked(curl, decoder, name, table)}


def _asked(curl: str, decoder: Decoder, name: str, table: tuple[Line, ...]) -> Iterator[tuple[str, Seen]]:
    own = [line for line in table if line.server == name]
    if not own:
        return
    with serving(decoder, SETTINGS[name]) as (port, slots), tempfile.TemporaryDirectory() as folder:
        _lay_out(Path(folder), slots)
        for line in own:
            yield line.says, run(curl, line.words, port, Path(folder))


def _lay_out(folder: Path, slots: Path) -> None:
    """What the lines speak of."""
    long = {"prompt": [400] * 1500, "n_predict": 1, "max_tokens": 1}
    (folder / "long.json").write_text(json.dumps(long))
    (folder / "long-stream.json").write_text(json.dumps(long | {"stream": True}))
    (slots / "junk.bin").write_bytes(b"junk")


def run(curl: str, words: tuple[str, ...], port: int, folder: Path) -> Seen:
    """One line's answer. AssertionError: it is no line of curl, or curl got no whole answer."""
    assert words[0] == "curl", f"no line of curl: {shlex.join(words)}"
    body = folder / "body"
    body.write_bytes(b"")
    argv = [
        curl, "-q", *words[1:], "--silent", "--show-error", "--noproxy", "*", "--max-time", str(AT_MOST_S),
        "--connect-to", f"{TYPED_FOR}:127.0.0.1:{port}", "--output", str(body),
        "--write-out", "%{http_code} %{method} %{content_type}",
    ]  # fmt: skip
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    done = subprocess.run(
        argv, cwd=folder, env=environment, capture_output=True, text=True, timeout=AT_MOST_S + 5, check=False
    )
    assert done.returncode == 0, f"{shlex.join(words)}: curl ended with {done.returncode}: {done.stderr}"
    status, method, content_type = done.stdout.split(" ", 2)
    in_head = method == "HEAD"  # which curl puts in the place of a body
    return seen(int(status), content_type, b"" if in_head else body.read_bytes())


def seen(status: int, content_type: str, body: bytes) -> Seen:
    """An answer as far as it is compared."""
    answer = Answer(status, [], body)
    if not body:
        return Seen(status, content_type, frozenset(), None)
    if content_type.startswith("text/event-stream"):
        last = next(each for each in reversed(answer.frames) if each != "[DONE]")
        frames = (each if each == "[DONE]" else shape(each) for each in answer.frames)
        return Seen(status, content_type, frozenset(last), folded(frames))
    if content_type.startswith("application/json"):
        value = answer.json
        first = value[0] if isinstance(value, list) and value else value
        return Seen(status, content_type, frozenset(first if isinstance(first, dict) else ()), shape(value))
    return Seen(
        status, content_type, frozenset(), [_VALUE_OR_WORDS.sub(r"\1", line) for line in body.decode().splitlines()]
    )
