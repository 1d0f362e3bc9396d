"""A fake engine as a process, and a blocking client of its two ports: for the gates about the engine alone."""

from __future__ import annotations

import http.client
import json
import re
import socket
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from wire.decode import ControlHeader, encode_decode_head, segments_for
from wire.hashes import xxh3_64
from wire.hydra import Op, RequestHead, ResponseHead, encode_request, encode_request_head, slot_key
from wire.hydra_stream import FrameEnd, PayloadChunk, ResponseDecoder

DEADLINE_S = 20.0


@dataclass(frozen=True)
class Answer:
    status: int
    meta: dict
    payload: bytes
    whole: bool


class Client:
    """One RPC connection."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=DEADLINE_S)
        self.decoder = ResponseDecoder()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, op, *, slot=0, payload=b"", trace=b"t"):
        self.socket.sendall(encode_request(op, key=slot_key(slot), trace=trace, payload=payload))

    def call(self, op, *, slot=0, payload=b"", trace=b"t") -> Answer:
        if isinstance(payload, dict):
            payload = json.dumps(payload).encode()
        self.send(op, slot=slot, payload=payload, trace=trace)
        return self.answer()

    def answer(self) -> Answer:
        """`whole` false: the peer closed before the frame had ended."""
        head, payload = ResponseHead(-1), b""
        while data := self.socket.recv(1 << 20):
            for event in self.decoder.receive(data):
                match event:
                    case ResponseHead():
                        head = event
                    case PayloadChunk(chunk):
                        payload += chunk
                    case FrameEnd():
                        return Answer(head.status, json.loads(head.meta or b"{}"), payload, True)
        return Answer(head.status, {}, payload, False)

    def put_head(self, payload_len, slot=0):
        self.socket.sendall(encode_request_head(RequestHead(Op.STATE_PUT, slot_key(slot), b"t", payload_len)))


@dataclass
class EngineProcess:
    """Started with any flags; `journal()` after `stop()` has the end record."""

    folder: Path
    flags: tuple[str, ...] = ()
    process: subprocess.Popen = field(init=False)
    port: int = field(init=False)
    rpc_port: int = field(init=False)

    def __enter__(self):
        self.log = (self.folder / "engine.log").open("w+b")
        files = ["--journal", str(self.folder / "engine.jsonl"), "--control", str(self.folder / "engine.sock")]
        command = [sys.executable, "-m", "fakes.engine_server", *files, *self.flags]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
        self.rpc_port = int(self._line(rb"RPC listening on .*:(\d+)"))
        self.port = int(self._line(rb"listening on http://[^ ]*:(\d+)"))
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self) -> int:
        if self.process.poll() is None:
            self.process.terminate()
        status = self.process.wait(DEADLINE_S)
        if self.process.stderr is not None and not self.process.stderr.closed:
            self.log.write(self.process.stderr.read())
            self.process.stderr.close()
            self.log.close()
        return status

    def _line(self, pattern: bytes) -> bytes:
        for line in self.process.stderr:
            self.log.write(line)
            if found := re.search(pattern, line):
                return found[1]
        raise AssertionError(f"no line {pattern!r} before the end: {self.process.wait()}")

    def rpc(self) -> Client:
        return Client(self.rpc_port)

    def http(self, method, path, body=None, headers=None, raw=False):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE_S)
        try:
            data = body if isinstance(body, bytes) or body is None else json.dumps(body)
            connection.request(method, path, data, headers or {})
            response = connection.getresponse()
            text = response.read()
            return response.status, text if raw else json.loads(text)
        finally:
            connection.close()

    def control(self, method, path, body=None):
        """A call of the engine's control endpoint."""
        connection = http.client.HTTPConnection("fake", timeout=DEADLINE_S)
        connection.sock = socket.socket(socket.AF_UNIX)
        try:
            connection.sock.connect(str(self.folder / "engine.sock"))
            connection.request(method, path, json.dumps(body or {}))
            response = connection.getresponse()
            text = json.loads(response.read())
            assert response.status == 200, text
            return text
        finally:
            connection.close()

    def journal(self, event=None):
        lines = (self.folder / "engine.jsonl").read_text().splitlines()
        entries = [json.loads(line) for line in lines]
        return [entry for entry in entries if event in (None, entry["event"])]


def prompt(n, first=300):
    """Token ids, a different prompt for another `first`."""
    return list(range(first, first + n))


def decode_payload(identity, tokens, kv, *, n_predict=8, kv_hash=True, **generation):
    """A merged DECODE for a prompt of token ids."""
    body = json.dumps({"prompt": tokens}).encode()
    prompt_segment, kv_segment = segments_for(body, len(kv), xxh3_64(kv) if kv_hash else None)
    meta = {key: identity[key] for key in ("tokenizer", "model_name", "model_quant", "model_capabilities")}
    header = ControlHeader(
        meta | {"n_past": len(tokens)}, prompt_segment, kv_segment, generation={"n_predict": n_predict} | generation
    )
    return encode_decode_head(header, body) + kv
