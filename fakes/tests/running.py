"""A fake decoder as a process, and one side of the handoff, spoken with the standard library."""

from __future__ import annotations

import http.client
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

DEADLINE_S = 20.0
REPOSITORY = Path(__file__).parents[2]


class Running:
    """One process, and what it has said."""

    def __init__(self, folder: Path, *argv: str, **environ: str) -> None:
        self.journal_path = folder / "decoder.jsonl"
        self.control_path = folder / "c.sock"
        words = ["-np", "2", "-c", "2048", "--cache-ram", "0", "--port", "0", "--slot-save-path", str(folder)]
        words += ["--journal", str(self.journal_path), "--control", str(self.control_path), *argv]
        self._stderr_path = folder / "stderr"
        with self._stderr_path.open("wb") as stderr:  # a pipe would fill, and hold the decoder up
            self.process = subprocess.Popen(
                [sys.executable, "-m", "fakes.decoder_server", *words],
                stderr=stderr,
                cwd=REPOSITORY,
                env={**os.environ, **environ},
            )
        self.url = self._wait_for("listening on ").rpartition("listening on ")[2]
        parts = urlsplit(self.url)
        self.address = (str(parts.hostname), int(parts.port or 0))

    @property
    def stderr(self) -> bytes:
        return self._stderr_path.read_bytes()

    def _wait_for(self, text: str) -> str:
        end = time.monotonic() + DEADLINE_S
        while text not in self.stderr.decode():
            assert time.monotonic() < end, f"waited {DEADLINE_S} s for {text!r}; stderr: {self.stderr.decode()}"
            if self.process.poll() is not None:
                break
            select.select([], [], [], 0.002)
        found = [line for line in self.stderr.decode().splitlines() if text in line]
        assert found, f"ended with {self.process.wait()}; stderr: {self.stderr.decode()}"
        return found[0]

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        connection = http.client.HTTPConnection(*self.address, timeout=DEADLINE_S)
        try:
            connection.request(method, path, None if body is None else json.dumps(body))
            reply = connection.getresponse()
            return reply.status, json.loads(reply.read() or b"null")
        finally:
            connection.close()

    def post(self, path: str, body: Any) -> tuple[int, Any]:
        return self.ask("POST", path, body)

    def control(self, method: str, path: str, body: Any = None) -> Any:
        connection = http.client.HTTPConnection("control")
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.settimeout(DEADLINE_S)
        connection.sock.connect(str(self.control_path))
        try:
            connection.request(method, path, None if body is None else json.dumps(body))
            return json.loads(connection.getresponse().read())
        finally:
            connection.close()

    def entries(self, event: str) -> list[dict[str, Any]]:
        lines = self.journal_path.read_text().splitlines()
        return [entry for entry in map(json.loads, lines) if entry["event"] == event]

    def until_journal(self, event: str) -> dict[str, Any]:
        end = time.monotonic() + DEADLINE_S
        while not (found := self.entries(event)):
            assert time.monotonic() < end, f"waited {DEADLINE_S} s for {event!r} in the journal"
            select.select([], [], [], 0.005)
        return found[0]

    def end(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(DEADLINE_S)


@contextmanager
def running(folder: Path, *argv: str, **environ: str) -> Iterator[Running]:
    """A decoder that has ended, well or not, when the block is left."""
    one = Running(folder, *argv, **environ)
    try:
        yield one
    finally:
        if one.process.poll() is None:
            one.process.kill()
        one.process.wait()
