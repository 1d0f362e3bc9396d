"""A byte-level fuzzer of the Hydra protocol: `python -m gates.fuzz.hydra --count 10000 --seed 1`.

Every input goes through all codecs; one in ten goes to a running fake engine as well. What must hold: a codec gives
values or `RemoteWireError` and takes little memory, and the engine serves the next request, with nothing on its
stderr. A failure names the seed and the number of its input.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import tempfile
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from random import Random

from gates.engines import EngineProcess
from gates.fuzz.mutate import chunked, mutated
from wire.blob import BlobV1, Checkpoint, CheckpointHead, StateBlob, encode_blob, encode_v1
from wire.blob_forms import read_for_decode, read_for_put
from wire.blob_reader import BlobLimits, BlobReader
from wire.decode import ControlHeader, DecodeReader, encode_decode_head, segments_for
from wire.decode_legacy import PieceDecoder, TokenFrame, TokenFrameDecoder, encode_piece, encode_token_frame
from wire.errors import RemoteWireError
from wire.hashes import xxh3_64
from wire.hydra import Op, Status, encode_request, encode_response
from wire.hydra_meta import decode_decode_meta, decode_info, decode_prefill_meta, decode_put_meta, decode_slot_meta
from wire.hydra_stream import RequestDecoder, ResponseDecoder

LIMITS = BlobLimits(4096, 2048)
MOST_BYTES = 4 * 1024 * 1024
"""What one input may make all codecs together take; inputs are a few hundred bytes."""
_TO_THE_ENGINE = 10


class Fell(Exception):
    """What was found."""


def main(argv: list[str] | None = None) -> int:
    """0 where everything held, 1 where something fell."""
    parser = argparse.ArgumentParser(prog="python -m gates.fuzz.hydra", description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-engine", action="store_true", help="the codecs only")
    asked = parser.parse_args(argv)
    try:
        n_engine = fuzz(asked.count, asked.seed, engine=not asked.no_engine)
    except Fell as fell:
        print(f"seed {asked.seed}: {fell}", file=sys.stderr)
        return 1
    print(f"{asked.count} inputs through every codec, {n_engine} of them to a running engine; all held")
    return 0


def fuzz(count: int, seed: int, *, engine: bool = True) -> int:
    """How many inputs the engine was given. Raises `Fell`."""
    rng = Random(seed)
    samples = _samples(rng)
    with contextlib.ExitStack() as stack:
        running = None
        if engine:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            running = stack.enter_context(EngineProcess(folder, ("--idle-timeout", "5", "--parallel", "2")))
        n_engine = 0
        for number in range(count):
            data = mutated(rng.choice(samples), rng)
            _codecs(number, data, rng)
            if running is not None and number % _TO_THE_ENGINE == 0:
                n_engine += 1
                _engine(number, running, data, rng)
        if running is not None:
            _ended_well(running)
    return n_engine


def _samples(rng: Random) -> list[bytes]:
    tokens = tuple(rng.randrange(2048) for _ in range(12))
    kv = rng.randbytes(64)
    checkpoint = Checkpoint(CheckpointHead(0, 3, 4, recurrent_only=True), rng.randbytes(20), rng.randbytes(3))
    blobs = [encode_blob(StateBlob(version, 12, tokens, kv)) for version in (2, 3)]
    blobs += [encode_blob(StateBlob(3, 12, tokens, kv, checkpoint)), encode_v1(BlobV1(12, tokens, kv)), kv]
    prompt = json.dumps({"prompt": list(tokens), "n_predict": 2}).encode()
    prompt_segment, kv_segment = segments_for(prompt, len(blobs[0]), xxh3_64(blobs[0]))
    identity = {"n_past": 12, "tokenizer": "toy-2048", "model_name": "toy-dense-2x32-1", "model_capabilities": 0}
    decode = encode_decode_head(ControlHeader(identity, prompt_segment, kv_segment), prompt) + blobs[0]
    frames = b"".join(encode_token_frame(TokenFrame(at, -0.5, at == 2)) for at in range(3))
    meta = json.dumps({"n_past": 12, "state_size": 64, "is_processing": False, "is_transferring": False}).encode()
    payloads = [*blobs, decode, prompt]
    requests = [
        encode_request(op, key=b"0", trace=b"f", payload=rng.choice(payloads)) for op in Op for _ in range(2)
    ] + [encode_request(Op.STATE_PUT, key=b"0", payload=blob) for blob in blobs]
    return [
        *payloads,
        *requests,
        encode_request(Op.DECODE, key=b"1", payload=decode),
        requests[0] + requests[1],
        encode_response(Status.OK, meta=meta, payload=blobs[0]),
        frames,
        encode_piece(b"one") + encode_piece(b"") + encode_piece("é".encode()),
        meta,
        b'{"valid":true,"decode_request_id":7}',
        b'{"capabilities":["merged_decode"]}',
    ]


def _readers(data: bytes, rng: Random) -> list[Callable[[], object]]:
    def streamed(make: Callable[[], object]) -> Callable[[], object]:
        def run() -> None:
            decoder = make()
            for chunk in chunked(data, rng):
                decoder.receive(chunk)  # type: ignore[attr-defined]
            decoder.close()  # type: ignore[attr-defined]

        return run

    metas = (decode_decode_meta, decode_info, decode_prefill_meta, decode_put_meta, decode_slot_meta)
    return [
        streamed(RequestDecoder),
        streamed(ResponseDecoder),
        streamed(lambda: BlobReader(len(data), LIMITS)),
        streamed(lambda: BlobReader(rng.randrange(1, 2**40), LIMITS)),
        streamed(lambda: DecodeReader(len(data))),
        streamed(lambda: DecodeReader(rng.randrange(2**40))),
        streamed(lambda: TokenFrameDecoder(len(data))),
        streamed(PieceDecoder),
        lambda: read_for_put(data, LIMITS),
        lambda: read_for_decode(data, LIMITS),
        *(lambda read=read: read(data) for read in metas),
    ]


def _codecs(number: int, data: bytes, rng: Random) -> None:
    tracemalloc.start()
    try:
        for reader in _readers(data, rng):
            try:
                reader()
            except RemoteWireError:
                continue
            except Exception as error:
                raise Fell(f"input {number}: {error!r} for {data.hex()}") from error
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    if peak > MOST_BYTES:
        raise Fell(f"input {number}: {peak} bytes were taken for {data.hex()}")


def _engine(number: int, running: EngineProcess, data: bytes, rng: Random) -> None:
    with contextlib.suppress(ConnectionError), running.rpc() as rpc:
        for chunk in chunked(data, rng):
            rpc.socket.sendall(chunk)
    try:
        with running.rpc() as rpc:
            answer = rpc.call(Op.INFO)
    except OSError as error:
        raise Fell(f"input {number}: no clean request was served after {data.hex()}: {error}") from error
    if answer.status != Status.OK:
        raise Fell(f"input {number}: status {answer.status} for a clean request after {data.hex()}")


def _ended_well(running: EngineProcess) -> None:
    with running.rpc() as rpc:
        for slot in range(2):
            meta = rpc.call(Op.STATE_META, slot=slot).meta
            if meta["is_processing"] or meta["is_transferring"]:
                raise Fell(f"slot {slot} is left in use: {meta}")
    held = [slot for slot in running.control("GET", "/state")["slots"] if slot["reserved_by"] is not None]
    if held:
        raise Fell(f"slots are left reserved: {held}")
    status = running.stop()
    log = (running.folder / "engine.log").read_text(errors="replace")
    bad = [line for line in log.splitlines() if "Traceback" in line or "Error" in line or "exception" in line.lower()]
    if status != 0 or bad:
        raise Fell(f"the engine ended with {status}; its stderr ends with:\n{log[-4000:]}")


if __name__ == "__main__":
    sys.exit(main())
