"""`python -m fakes.warm SOCKET`: a process with everything imported that forks a fake for each request.

A client connects, sends one JSON line for each fake it wants, and is told of its start and its end:

    {"kind": "decoder", "argv": [...], "env": {...}, "cwd": "...", "stdout": PATH, "stderr": PATH}
    {"pid": 123}
    {"pid": 123, "exit": 0}          negative: the signal that ended it
    {"error": "..."}                 the request could not be read

Each fake is a process of its own. A client's fakes are killed when its connection closes, and this process ends with
its last client, so that a harness that dies leaves nothing.
"""

from __future__ import annotations

import gc
import json
import os
import selectors
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from traceback import print_exc
from typing import Any

from fakes.near import near

KINDS = {"decoder": "fakes.decoder_server", "engine": "fakes.engine_server"}
_PRELOADED = ("uvloop", "fakes.catalogue")
_MAX_LINE = 1 << 20
_USAGE = 2


class BadRequest(Exception):
    """A line that asks for nothing that can be started."""


@dataclass(frozen=True, slots=True)
class Order:
    """One fake to start."""

    kind: str
    argv: tuple[str, ...]
    env: Mapping[str, str] | None
    cwd: str | None
    stdout: str
    stderr: str


def parse_order(line: bytes) -> Order:
    """An order out of its line. BadRequest says what is wrong with it."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadRequest(f"no JSON: {error}") from None
    if not isinstance(value, dict):
        raise BadRequest("no JSON object")
    kind, argv, env = value.get("kind"), value.get("argv"), value.get("env")
    if kind not in KINDS:
        raise BadRequest(f"no kind {kind!r}{near(str(kind), KINDS)}")
    if not isinstance(argv, list) or not all(isinstance(word, str) for word in argv):
        raise BadRequest("argv is no list of strings")
    if env is not None and not (isinstance(env, dict) and all(isinstance(text, str) for text in env.values())):
        raise BadRequest("env is no object of strings")
    paths = [_path(value, name) for name in ("cwd", "stdout", "stderr")]
    return Order(kind, tuple(argv), env, paths[0], paths[1] or os.devnull, paths[2] or os.devnull)


def _path(value: Mapping[str, Any], name: str) -> str | None:
    path = value.get(name)
    if path is not None and not isinstance(path, str):
        raise BadRequest(f"{name} is no path")
    return path


@dataclass(slots=True)
class Client:
    """One connection and the fakes it has running, by the descriptor that watches each."""

    socket: socket.socket
    pending: bytearray = field(default_factory=bytearray)
    running: dict[int, int] = field(default_factory=dict)

    def tell(self, value: Mapping[str, Any]) -> None:
        with suppress(OSError):  # it has gone; its socket says so to the selector as well
            self.socket.sendall(json.dumps(value).encode() + b"\n")


class Warm:
    """Serves the clients of one socket."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(path)
        self._listener.listen(16)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ, None)
        self._clients: list[Client] = []

    def serve(self) -> None:
        """Until the last client has gone."""
        try:
            while self._turn():
                pass
        finally:
            for client in list(self._clients):
                self._drop(client)
            self._listener.close()
            Path(self._path).unlink(missing_ok=True)

    def _turn(self) -> bool:
        for key, _ in self._selector.select():
            if key.data is None:
                self._accept()
            elif key.fileobj is key.data.socket:
                self._read(key.data)
                if not self._clients:
                    return False
            else:
                self._reap(key.data, key.fd)
        return True

    def _accept(self) -> None:
        connection, _ = self._listener.accept()
        client = Client(connection)
        self._clients.append(client)
        self._selector.register(connection, selectors.EVENT_READ, client)

    def _read(self, client: Client) -> None:
        try:
            data = client.socket.recv(1 << 16)
        except OSError:
            data = b""
        client.pending += data
        if not data or len(client.pending) > _MAX_LINE:
            self._drop(client)
            return
        *lines, rest = bytes(client.pending).split(b"\n")
        client.pending = bytearray(rest)
        for line in lines:
            try:
                self._start(client, parse_order(line))
            except BadRequest as error:
                client.tell({"error": str(error)})

    def _start(self, client: Client, order: Order) -> None:
        pid = os.fork()
        if pid == 0:
            self._become(order)
        watch = os.pidfd_open(pid)
        client.running[watch] = pid
        self._selector.register(watch, selectors.EVENT_READ, client)
        client.tell({"pid": pid})

    def _reap(self, client: Client, watch: int) -> None:
        pid = client.running.pop(watch)
        self._selector.unregister(watch)
        os.close(watch)
        _, status = os.waitpid(pid, 0)
        client.tell({"pid": pid, "exit": os.waitstatus_to_exitcode(status)})

    def _drop(self, client: Client) -> None:
        for watch, pid in list(client.running.items()):
            signal.pidfd_send_signal(watch, signal.SIGKILL)
            self._selector.unregister(watch)
            os.close(watch)
            os.waitpid(pid, 0)
        client.running.clear()
        self._selector.unregister(client.socket)
        client.socket.close()
        self._clients.remove(client)

    def _become(self, order: Order) -> None:
        """The child: let go of what is the parent's, and be the fake."""
        status = 1
        try:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            self._selector.close()
            self._listener.close()
            for client in self._clients:
                client.socket.close()
                for watch in client.running:
                    os.close(watch)
            _redirect(order)
            status = import_module(KINDS[order.kind]).main(order.argv)
        except BaseException:
            print_exc()
            raise
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)


def _redirect(order: Order) -> None:
    """Descriptors 0, 1 and 2, the folder and the environment of a new fake."""
    out = os.open(order.stdout, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    err = os.open(order.stderr, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    null = os.open(os.devnull, os.O_RDONLY)
    for number, fd in enumerate((null, out, err)):
        os.dup2(fd, number)
        os.close(fd)
    if order.cwd is not None:
        os.chdir(order.cwd)
    if order.env is not None:
        os.environ.clear()
        os.environ.update(order.env)


def _preload() -> None:
    for module in (*KINDS.values(), *_PRELOADED):
        import_module(module)
    gc.collect()
    gc.freeze()


def _end(number: int, _: object) -> None:
    raise SystemExit(0)


def main(argv: Sequence[str] | None = None) -> int:
    """The exit status."""
    words = sys.argv[1:] if argv is None else list(argv)
    if len(words) != 1:
        print("usage: python -m fakes.warm SOCKET", file=sys.stderr)
        return _USAGE
    _preload()
    signal.signal(signal.SIGTERM, _end)
    try:
        warm = Warm(words[0])
    except OSError as error:
        print(f"cannot listen on {words[0]}: {error.strerror or error}", file=sys.stderr)
        return 1
    print("ready", flush=True)
    warm.serve()
    return 0


if __name__ == "__main__":
    sys.exit(main())
