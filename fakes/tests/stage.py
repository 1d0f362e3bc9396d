"""A fake decoder without a socket or a clock: requests in, and its effects carried out by hand."""

from __future__ import annotations

import io
import json
from typing import Any

from fakes.api_error import ApiError
from fakes.control import control
from fakes.decoder import controlled, handle
from fakes.effects import Await, ClientGone, Effect, Flow, Pause, Reply, SendShare, Sent, StartStream, Write
from fakes.fault import Player
from fakes.fault_setting import parse_setting
from fakes.flags import parse_flags
from fakes.http1 import Request
from fakes.log import Log
from fakes.machine import Machine
from fakes.spec import parse_spec
from wire.sse import SseDecoder, SseEvent


class Kept:
    """A journal that keeps its entries."""

    wanted = True
    kept = None

    def __init__(self) -> None:
        self.entries: list[dict[str, Any]] = []

    def write(self, event: str, **fields: Any) -> None:
        self.entries.append({"event": event, **fields})

    def of(self, event: str) -> list[dict[str, Any]]:
        return [entry for entry in self.entries if entry["event"] == event]


class Memory:
    """Files in a dictionary."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}

    def read(self, path: str) -> bytes:
        if path not in self.files:
            raise FileNotFoundError(2, "No such file or directory", path)
        return self.files[path]

    def write(self, path: str, data: bytes) -> None:
        self.files[path] = data


class Job:
    """One request on its way. It goes on until it waits; `go` lets it go on from there."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self.written = b""
        self.started = False
        self.paused: list[float] = []
        self.waiting: Effect | None = None
        self.status: int | None = None
        self.body: Any = None
        self.go()

    @property
    def ended(self) -> bool:
        return self.status is not None

    @property
    def events(self) -> list[Any]:
        decoder = SseDecoder()
        data = [event.data for event in decoder.receive(self.written) if isinstance(event, SseEvent)]
        return [one.decode() if one == b"[DONE]" else json.loads(one) for one in data]

    def go(self, value: Any = None) -> None:
        self._run(lambda: self.flow.send(value))

    def leave(self) -> None:
        """The client goes away."""
        self._run(lambda: self.flow.throw(ClientGone()))

    def _run(self, step: Any) -> None:
        self.waiting = None
        try:
            while True:
                effect = step()
                if isinstance(effect, Write):
                    self.written += b"".join(effect.events)
                elif isinstance(effect, StartStream):
                    self.started = True
                elif isinstance(effect, Pause):
                    self.paused.append(effect.seconds)
                elif not (isinstance(effect, Await) and effect.signal.is_set):
                    self.waiting = effect
                    return
                step = lambda: self.flow.send(None)  # noqa: E731
        except StopIteration as stop:
            self.status = 200
            if isinstance(stop.value, Reply):
                self.status, self.body = stop.value.status, _value(stop.value.body)
        except ApiError as error:
            self.status, self.body = error.status, _value(error.body)
        except ClientGone:
            self.status = 0


def _value(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return body


class Stage:
    """One machine. `share` names what its next share would send, and `sent` what becomes of it."""

    def __init__(
        self, *argv: str, model: str = "toy", faults: tuple[str, ...] = (), save_path: str | None = "/"
    ) -> None:
        from fakes.catalogue import catalogue

        words = ["-np", "2", "-c", "2048", "--cache-ram", "0", "--metrics", *argv]
        if save_path is not None:
            words += ["--slot-save-path", save_path]
        self.options = parse_flags(words, {})
        self.journal = Kept()
        self.files = Memory()
        self.log = io.BytesIO()
        self.now_ns = 1_000_000
        self.names = 0
        armed = [parse_setting(text, catalogue()) for text in faults]
        self.player = Player(self.journal, armed)
        self.machine = Machine(
            self.options,
            parse_spec(model),
            journal=self.journal,  # type: ignore[arg-type]
            player=self.player,
            log=Log(self.log.write, self._clock, 3),
            files=self.files,
            clock_ns=self._clock,
            wall_s=lambda: 1_700_000_000.0,
            new_name=self._name,
        )
        self.machine.loading = False

    def _clock(self) -> int:
        self.now_ns += 1000
        return self.now_ns

    def _name(self) -> str:
        self.names += 1
        return f"name{self.names}"

    def start(self, method: str, path: str, body: Any = None, **headers: str) -> Job:
        path, _, query = path.partition("?")
        pairs = dict(pair.split("=") for pair in query.split("&")) if query else {}
        raw = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        return Job(handle(self.machine, Request(method, path, pairs, names, True, raw)))

    def post(self, path: str, body: Any = None, **headers: str) -> tuple[int | None, Any]:
        job = self.start("POST", path, body, **headers)
        return job.status, job.body

    def get(self, path: str, **headers: str) -> tuple[int | None, Any]:
        job = self.start("GET", path, **headers)
        return job.status, job.body

    def complete(self, prompt: Any, n_predict: int = 6, **more: Any) -> Any:
        status, body = self.post(
            "/completion", {"prompt": prompt, "n_predict": n_predict, "return_tokens": True, **more}
        )
        assert status == 200, body
        return body

    def control(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int | None, Any]:
        path, _, query = path.partition("?")
        pairs = dict(pair.split("=") for pair in query.split("&")) if query else {}
        raw = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        job = Job(control(controlled(self.machine), Request(method, path, pairs, names, True, raw)))
        return job.status, job.body

    def share(self, slot: int, n_tokens: int) -> Job:
        """A share whose message is taken, with one descriptor."""
        job = self.start("POST", f"/slots/{slot}?action=share", {"socket": "/tmp/s", "n_tokens": n_tokens})
        if isinstance(job.waiting, SendShare):
            job.go(Sent(connected=True, n_descriptors=1))
        return job

    def lines(self) -> list[str]:
        self.machine.log.flush()
        return self.log.getvalue().decode().splitlines()
