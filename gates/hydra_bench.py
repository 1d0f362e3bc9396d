"""Two fake engines and the router in front of them, as processes: what a request is answered, and what is left."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from gates.engines import EngineProcess
from wire.hydra import Op

DEADLINE_S = 20.0
SHORT = {
    "provider": "2",
    "restore": "0.6",
    "stream": "0.4",
    "share": "0.4",
    "first-byte": "3",
    "request": "10",
    "drain": "5",
}
"""Every deadline of the router, scaled down, in seconds."""
FLAGS = ("--parallel", "2", "--ctx-size", "8192")


@dataclass(frozen=True)
class Reply:
    """`text` is None where the reply is not whole."""

    status: int
    route: str
    reason: str
    trace: str
    text: str | None
    raw: bytes
    took_s: float


class RouterProcess:
    """The router before the engines it is told of."""

    def __init__(self, prefill: EngineProcess, decode: EngineProcess, timeouts=SHORT, args=()):
        command = [sys.executable, "-m", "router", "serve", "--port", "0", *args]
        command += ["--decoder", f"http://127.0.0.1:{decode.port}", "--engine-decode", f"127.0.0.1:{decode.rpc_port}"]
        command += ["--engine-prefill", f"127.0.0.1:{prefill.rpc_port}"]
        command += ["--engine-prefill-url", f"http://127.0.0.1:{prefill.port}"]
        command += [word for name, value in timeouts.items() for word in (f"--{name}-timeout", value)]
        self.lines: list[str] = []
        self.ready = threading.Event()
        self.port = 0
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        assert self.ready.wait(DEADLINE_S), self.lines

    def _read(self):
        for line in self.process.stderr:
            self.lines.append(line.rstrip("\n"))
            if found := re.search(r"listening on http://127.0.0.1:(\d+)", line):
                self.port = int(found[1])
                self.ready.set()
        self.ready.set()

    @property
    def hybrid(self):
        return [line.removeprefix("hybrid: ") for line in self.lines if line.startswith("hybrid: ")]

    def stop(self):
        self.process.terminate()
        status = self.process.wait(DEADLINE_S)
        self._reader.join(DEADLINE_S)
        self.process.stderr.close()
        return status

    def get(self, path):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE_S)
        try:
            connection.request("GET", path)
            return connection.getresponse().read()
        finally:
            connection.close()

    def metric(self, name):
        """The sum over its labels."""
        found = re.findall(rf"^{name}(?:{{[^}}]*}})? (\S+)$", self.get("/metrics").decode(), re.MULTILINE)
        return sum(map(float, found))

    def chat(self, text, *, stream=False, **body):
        return chat(self.port, text, stream=stream, **body)


def chat(port, text, *, stream=False, seconds=DEADLINE_S, **body):
    """One chat completion, wherever it is asked for."""
    body = {"messages": [{"role": "user", "content": text}], "max_tokens": 8, "stream": stream} | body
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=seconds)
    started = time.monotonic()
    try:
        connection.request("POST", "/v1/chat/completions", json.dumps(body))
        response = connection.getresponse()
        raw, whole = _read_all(response)
        said = [response.getheader(f"X-{name}") or "" for name in ("KVGate-Route", "KVGate-Reason", "Request-Id")]
        text = _text(raw, stream) if whole and response.status == 200 else None
        return Reply(response.status, *said, text, raw, time.monotonic() - started)
    finally:
        connection.close()


def _read_all(response):
    """Of a reply that was cut, what came."""
    try:
        return response.read(), True
    except http.client.IncompleteRead as cut:
        return cut.partial, False


def _text(raw, stream):
    if not stream:
        return json.loads(raw)["choices"][0]["message"]["content"]
    frames = [line.removeprefix(b"data: ") for line in raw.split(b"\n") if line.startswith(b"data: ")]
    if not frames or frames[-1] != b"[DONE]" or any(frame.startswith(b'{"error"') for frame in frames):
        return None
    deltas = [json.loads(frame)["choices"][0]["delta"] for frame in frames[:-1]]
    return "".join(delta.get("content") or "" for delta in deltas)


class Bench:
    """A prefilling engine, a decoding one, and the router."""

    def __init__(self, prefill_flags=(), decode_flags=(), timeouts=SHORT):
        self._stack = contextlib.ExitStack()
        self._flags = {"prefill": prefill_flags, "decode": decode_flags}
        self._timeouts = timeouts

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            self.prefill = stack.enter_context(EngineProcess(self._folder(stack), (*FLAGS, *self._flags["prefill"])))
            self.decode = stack.enter_context(EngineProcess(self._folder(stack), (*FLAGS, *self._flags["decode"])))
            self.router = RouterProcess(self.prefill, self.decode, self._timeouts)
            stack.callback(lambda: self.router.stop())
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_):
        self._stack.close()

    def _folder(self, stack):
        return Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hydra-")))

    def renew(self):
        """Everything afresh."""
        self.__exit__()
        self.__enter__()

    def renew_router(self):
        """A router that has found out nothing yet about the same engines."""
        assert self.router.stop() == 0
        self.router = RouterProcess(self.prefill, self.decode, self._timeouts)

    @property
    def engines(self):
        return {"prefill": self.prefill, "decode": self.decode}

    def play(self, faults):
        for side, wanted in faults.items():
            self.engines[side].control("POST", "/faults", {"set": list(wanted)})

    def alive(self):
        """The engines that have not ended. One that a fault ends is given the moment that it takes."""
        found = []
        for engine in self.engines.values():
            with contextlib.suppress(ConnectionError, FileNotFoundError):
                engine.control("GET", "/state")
                found.append(engine)
        return found

    def clear(self):
        """No faults any more. A stranger that sat on a slot has gone, which any operation on it shows; and a slot that
        was shown as working for some looks has been looked at so often."""
        for engine in self.alive():
            engine.control("POST", "/faults", {"clear": True})
            for _ in range(4):
                engine.http("GET", "/slots")
            for slot in range(2):
                with engine.rpc() as rpc:
                    rpc.call(Op.STATE_GET, slot=slot)

    def left(self):
        """What is still held, once everything has had the time to come back; empty is good."""
        deadline = time.monotonic() + DEADLINE_S
        found = self._left()
        while found and time.monotonic() < deadline:
            threading.Event().wait(0.02)
            found = self._left()
        return found

    def _left(self):
        found = [
            f"{side}: slot {slot['id']} is {what}"
            for side, engine in self.engines.items()
            if engine in self.alive()
            for slot in engine.control("GET", "/state")["slots"]
            for what, held in (("reserved", slot["reserved_by"] is not None), ("working", slot["is_processing"]))
            if held
        ]
        if len(self.alive()) == 2:
            gauges = ("kvgate_slots_leased", "kvgate_slots_doubtful", "kvgate_requests_in_flight")
            found += [name for name in gauges if self.router.metric(name)]
        return found

    def evaluated(self):
        return {side: engine.control("GET", "/state")["evaluated"] for side, engine in self.engines.items()}

    def executions(self, trace):
        """How often each engine ran a PREFILL or DECODE for a request."""
        found = {}
        for side, engine in self.engines.items():
            for entry in engine.journal("execution"):
                if entry["trace"] == trace:
                    found[side, entry["op"]] = found.get((side, entry["op"]), 0) + 1
        return found
