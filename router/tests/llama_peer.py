"""A llama-server for tests, as small as can be: slots that hold tokens, the routes the router calls, and scripts.

Written against the protocol with the standard library alone. `answers` replaces a call's reply, `hangs` makes it
never come, `calls` is what was asked, in order.
"""

import array
import asyncio
import fcntl
import json
import os
import socket
from contextlib import asynccontextmanager

from wire.region import Cells, Region, ShareHeader, Tensor, encode_share_message, layout_hash
from wire.statefile import (
    AttentionState,
    Layer,
    StateFile,
    TokenForm,
    decode_statefile,
    encode_attention,
    encode_statefile,
)

N_CELLS = 256
TENSORS = (Tensor("cache_k_l0", 0, 0, 32, "f16", N_CELLS), Tensor("cache_v_l0", 0, 8192, 32, "f16", N_CELLS))
REGION = Region(16384, 0, layout_hash(TENSORS))
REFUSAL = {"error": {"code": 400, "message": "Invalid action", "type": "invalid_request_error"}}


def state_file(tokens, key_type=None, version=4):
    """As small as a state file can be: its tokens, and a state that tells nothing or the type of its keys."""
    state = b""
    if key_type is not None:
        rows = (Layer(key_type, 8, bytes(8 * len(tokens))),)
        state = encode_attention(AttentionState(2, positions=tuple(range(len(tokens))), keys=rows, values=rows))
    return encode_statefile(StateFile(tuple(tokens), TokenForm.BARE, state, version))


class LlamaPeer:
    def __init__(self, n_slots=2, n_ctx=1024):
        self.slots = [[] for _ in range(n_slots)]
        self.n_ctx = n_ctx
        self.state = {}
        """What its state files are like: `key_type`, `version`."""
        self.answers = {"share": (400, REFUSAL)}
        self.hangs = set()
        self.calls = []
        self.bodies = []
        self.url = ""
        self.stream_cut_after = None
        self.tail = [b"data: [DONE]\n\n"]
        self.hold = None
        self.shared = None
        self.n_hung_up = 0
        self.writers = set()

    def names(self, *wanted):
        return [name for name in self.calls if not wanted or name in wanted]

    def die(self):
        """Listens no more and hangs up on everybody."""
        self.server.close()
        for writer in self.writers:
            writer.transport.abort()

    async def serve(self, reader, writer):
        self.writers.add(writer)
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                method, target, _ = head.split("\r\n")[0].split(" ")
                sizes = [
                    int(line.split(":")[1]) for line in head.split("\r\n") if line.lower().startswith("content-length")
                ]
                raw = await reader.readexactly(sizes[0]) if sizes else b"null"
                await self._answer(method, target, json.loads(raw or b"null"), reader, writer)
        except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
            pass
        finally:
            self.writers.discard(writer)
            writer.close()

    async def _answer(self, method, target, body, reader, writer):
        name = target.partition("action=")[2] or target.rpartition("/")[2]
        if name == "save" and body["filename"] == "/":
            name = "probe"
        if name not in ("health", "props", "models", "slots", "probe"):
            self.calls.append(name)
        if name in self.hangs:
            await reader.read()
            self.n_hung_up += 1
            raise ConnectionError
        if name == "completions":
            self.bodies.append(body)
            if self.hold is not None:
                await self.hold.wait()
        status, value = self.answers.get(name) or self._honest(name, target, body)
        if name.startswith("completion") and status == 200 and body.get("stream"):
            await self._stream(value, writer)
            return
        raw = json.dumps(value).encode()
        writer.write(
            b"HTTP/1.1 %d X\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % (status, len(raw))
        )
        writer.write(raw)
        await writer.drain()

    def _honest(self, name, target, body):
        slot = int(target.split("/")[2].partition("?")[0]) if target.startswith("/slots/") else 0
        match name:
            case "props":
                return 200, {"total_slots": len(self.slots), "default_generation_settings": {"n_ctx": self.n_ctx}}
            case "probe":
                return 400, {"error": {"code": 400, "message": "Invalid filename", "type": "invalid_request_error"}}
            case "tokenize":
                return 200, {"tokens": [ord(ch) for ch in body["content"]]}
            case "apply-template":
                return 200, {"prompt": "<s>" + "".join(m["content"] for m in body["messages"])}
            case "share":
                self.slots[slot] = []
                self.shared = slot
                self._send_region(body["socket"], body["n_tokens"])
                return 200, {"share_id": "s1"}
            case "adopt":
                self.slots[slot] = list(body["tokens"])
                return 200, {"id_slot": slot, "n_adopted": len(body["tokens"])}
            case "restore":
                return 200, {"id_slot": slot, "n_restored": self._restored(slot, body["filename"])}
            case "erase":
                self.slots[slot] = []
                return 200, {"id_slot": slot, "n_erased": 0}
            case "save":
                (self.folder / body["filename"]).write_bytes(state_file(self.slots[slot], **self.state))
                return 200, {"id_slot": slot, "n_saved": len(self.slots[slot])}
            case "completions":
                return 200, self._complete(body)
            case "completion":
                return 200, {**self._complete(body), "stop": True}
        return 200, {"status": "ok", "data": []}

    def _restored(self, slot, filename):
        self.slots[slot] = list(decode_statefile((self.folder / filename).read_bytes()).tokens)
        return len(self.slots[slot])

    def _complete(self, body):
        prompt = body.get("prompt")
        tokens = prompt if isinstance(prompt, list) else [ord(ch) for ch in prompt or "<s>"]
        slot = body.get("id_slot", len(self.slots) - 1)
        held = self.slots[slot] if body.get("cache_prompt", True) else []
        common = 0
        while common < min(len(held), len(tokens) - 1) and held[common] == tokens[common]:
            common += 1
        self.slots[slot] = list(tokens)
        return {"choices": [{"text": "x"}], "timings": {"cache_n": common, "prompt_n": len(tokens) - common}}

    async def _stream(self, value, writer):
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        frames = [
            b": ping\n\n",
            b'data: {"choices":[{"text":"x"}]}\n\n',
            b"data: " + json.dumps(value).encode() + b"\n\n",
        ]
        for frame in (frames + self.tail)[: self.stream_cut_after]:
            writer.write(b"%x\r\n%s\r\n" % (len(frame), frame))
            await writer.drain()
        if self.stream_cut_after is not None:
            raise ConnectionError
        writer.write(b"0\r\n\r\n")
        await writer.drain()

    def _send_region(self, path, n_tokens):
        fd = os.memfd_create("region", os.MFD_ALLOW_SEALING)
        os.ftruncate(fd, REGION.size)
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
        message = encode_share_message(ShareHeader("s1", (REGION,), TENSORS, Cells(0, n_tokens)))
        with socket.socket(socket.AF_UNIX) as sock:
            sock.connect(path)
            sock.sendmsg([message], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))])
        os.close(fd)


@asynccontextmanager
async def running(peer, folder, port=0):
    """The peer at work; `url` says where."""
    peer.folder = folder
    server = await asyncio.start_server(peer.serve, "127.0.0.1", port)
    peer.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    peer.server = server
    try:
        yield peer
    finally:
        peer.die()
