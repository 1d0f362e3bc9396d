"""A fuzzer of HTTP and JSON: `python -m gates.fuzz.http --count 10000 --seed 1 [--against router]`.

Malformed requests go to a running fake decoder, or to a router before one. What must hold: a whole request is
answered and every connection ends in time, what is answered begins as HTTP does, good requests between them get the
answer that they got at first, no slot stays in use, and nothing on stderr speaks of a bug. A failure names the seed
and the number of its request.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import queue
import re
import socket
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import IO

from gates.commands import ROOT, ROUTER
from gates.fuzz.malformed import Malformed, malformed, request
from harness.deadline import until
from harness.errors import DeadlineMissed

ANSWER_S = 20.0
_GOOD_EVERY = 10
_GOOD = request("/v1/completions", json.dumps({"prompt": [500, 501, 502], "max_tokens": 4, "temperature": 0}).encode())
_BUGS = re.compile(r"Traceback|a bug, while|Unhandled|never retrieved|\w+Error\b")
_STATUS_LINE = re.compile(rb"HTTP/\d\.\d [1-5]\d\d[ \r]")
_LISTENING = re.compile(rb"listening on http://127\.0\.0\.1:(\d+)")
AGAINST = ("decoder", "router")


class Fell(Exception):
    """What was found."""


@dataclass(slots=True)
class Server:
    """A process that listens; `log` is what it has written."""

    process: subprocess.Popen[bytes]
    reader: threading.Thread
    port: int
    log: Path

    def stop(self) -> tuple[int, str]:
        """Its exit status after TERM, and its whole log."""
        self.process.terminate()
        status = self.process.wait(ANSWER_S)
        self.reader.join()
        return status, self.log.read_text(errors="replace")


def main(argv: list[str] | None = None) -> int:
    """0 where everything held, 1 where something fell."""
    parser = argparse.ArgumentParser(prog="python -m gates.fuzz.http", description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--against", choices=AGAINST, default="decoder")
    asked = parser.parse_args(argv)
    try:
        kinds = fuzz(asked.count, asked.seed, asked.against)
    except Fell as fell:
        print(f"seed {asked.seed}: {fell}", file=sys.stderr)
        return 1
    counts = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    print(f"{asked.count} malformed requests to the {asked.against}; all held ({counts})")
    return 0


def fuzz(count: int, seed: int, against: str = "decoder") -> Counter[str]:
    """How many of which kind were sent. Raises `Fell`."""
    rng = Random(seed)
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        slots = Path(folder) / "slots"
        slots.mkdir()
        words = ("-np", "2", "-c", "1024", "--cache-ram", "0", "--metrics", "--slot-save-path", str(slots))
        fake = [sys.executable, "-m", "fakes.decoder_server", "--port", "0", *words]
        servers = [stack.enter_context(running(fake, Path(folder) / "decoder.log"))]
        if against == "router":
            router = [ROUTER, "serve", "--port", "0", "--decoder", f"http://127.0.0.1:{servers[0].port}"]
            servers.append(stack.enter_context(running(router, Path(folder) / "router.log")))
        kinds = _attack(servers[-1].port, count, rng)
        _idle(servers[0].port)
        for server in reversed(servers):
            _ended_well(server)
    return kinds


def _attack(port: int, count: int, rng: Random) -> Counter[str]:
    kinds: Counter[str] = Counter()
    expected = _good(port)
    for number in range(count):
        one = malformed(rng)
        kinds[one.kind] += 1
        where = f"request {number} ({one.kind}): "
        _one(port, one, where)
        if number % _GOOD_EVERY == 0 and _good(port) != expected:
            raise Fell(f"{where}a good request after it got another answer; it was {_shown(one.data)}")
    return kinds


def _one(port: int, one: Malformed, where: str) -> None:
    try:
        answer = exchange(port, one.data, whole=one.whole)
    except TimeoutError:
        raise Fell(f"{where}no end of the connection within {ANSWER_S:g} s for {_shown(one.data)}") from None
    except OSError as error:
        raise Fell(f"{where}{error} for {_shown(one.data)}") from None
    if answer and _STATUS_LINE.match(answer) is None:
        raise Fell(f"{where}an answer that is no HTTP: {_shown(answer)} for {_shown(one.data)}")
    if one.whole and not answer:
        raise Fell(f"{where}no answer to a whole request: {_shown(one.data)}")


def exchange(port: int, data: bytes, *, whole: bool) -> bytes:
    """All that comes back until the connection ends. What is not whole is ended by its sender."""
    with socket.create_connection(("127.0.0.1", port), timeout=ANSWER_S) as connection:
        found = b""
        with contextlib.suppress(ConnectionError):  # it may be refused before all of it is sent
            connection.sendall(data)
            if not whole:
                connection.shutdown(socket.SHUT_WR)
        with contextlib.suppress(ConnectionError):
            while part := connection.recv(1 << 16):
                found += part
        return found


def _good(port: int) -> str:
    head, _, body = exchange(port, _GOOD, whole=True).partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200 "):
        raise Fell(f"a good request was answered {_shown(head + body)}")
    return str(json.loads(body)["choices"][0]["text"])


def _idle(decoder: int) -> None:
    """Nothing is left in use once all clients have gone."""

    async def idle() -> bool | None:
        return None if any(slot["is_processing"] for slot in _slots(decoder)) else True

    try:
        asyncio.run(until(ANSWER_S, "every slot to be idle after the last client has left", idle))
    except DeadlineMissed as missed:
        raise Fell(str(missed)) from None


def _slots(decoder: int) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(
        exchange(decoder, request("/slots", None), whole=True).partition(b"\r\n\r\n")[2]
    )
    return found


def _ended_well(server: Server) -> None:
    if (early := server.process.poll()) is not None:
        raise Fell(f"{server.log.stem} had ended with {early}: {server.log.read_text(errors='replace')[-4000:]}")
    status, log = server.stop()
    bugs = [line for line in log.splitlines() if _BUGS.search(line)]
    if status != 0 or bugs:
        raise Fell(f"{server.log.stem} ended with {status}; {len(bugs)} bad lines: {bugs[:5]}; it ends {log[-2000:]}")


@contextlib.contextmanager
def running(argv: Sequence[str], log: Path) -> Iterator[Server]:
    """A server that says where it listens. Ended whatever happens."""
    ports: queue.SimpleQueue[int | None] = queue.SimpleQueue()
    with subprocess.Popen(argv, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, cwd=ROOT) as process:
        assert process.stderr is not None
        reader = threading.Thread(target=_keep, args=(process.stderr, log, ports))
        reader.start()
        try:
            port = ports.get(timeout=60.0)
            if port is None:
                raise Fell(f"{argv} ended before it listened: {log.read_text(errors='replace')[-2000:]}")
            yield Server(process, reader, port, log)
        finally:
            if process.poll() is None:
                process.kill()
            reader.join()


def _keep(lines: IO[bytes], log: Path, ports: queue.SimpleQueue[int | None]) -> None:
    """Copy what it writes, and tell the port as soon as it is said; None at the end."""
    with log.open("wb") as out:
        for line in lines:
            out.write(line)
            out.flush()
            if found := _LISTENING.search(line):
                ports.put(int(found[1]))
    ports.put(None)


def _shown(data: bytes) -> str:
    return repr(data) if len(data) <= 300 else f"{data[:300]!r} and {len(data) - 300} bytes more"


if __name__ == "__main__":
    sys.exit(main())
