"""Does a step on an engine over its RPC port, and reads a DECODE's stored result over HTTP. It judges nothing.

What comes of it has one shape for all of them: `rpc` is the answer's status by name, and the rest is what the
answer, or the stored result, says.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from harness.deadline import until
from harness.errors import DeadlineMissed
from harness.hydra_client import HydraClient, RpcAnswer, read_object
from harness.record import StepRecord
from harness.steps.blob_forms import reshaped
from harness.steps.engine_spec import Decode, EngineAct, Get, KvHash, Meta, Prefill, Put
from harness.steps.spec import Step
from wire.decode import ControlHeader, encode_decode_head, segments_for
from wire.hashes import xxh3_64
from wire.hydra import Op

_NOT_READY = "not ready"
_IDENTITY = ("tokenizer", "model_name", "model_quant", "model_capabilities", "model_alias")
_LOOK_S = 5.0
_BAD_BIT = 1


@dataclass(frozen=True, slots=True)
class EngineAt:
    """Where an engine's two ports are."""

    client: HydraClient
    url: str


@dataclass(frozen=True, slots=True)
class State:
    """State that an engine sent, with what it said of it."""

    data: bytes
    logits_bytes: int
    n_tok: int
    identity: Mapping[str, Any]


@dataclass(slots=True)
class EngineActor:
    """`ids_of` reads a text with an engine's own tokenizer. `states` are kept by the step that left them."""

    http: aiohttp.ClientSession
    ids_of: Callable[[str, str], Awaitable[tuple[int, ...]]]
    states: dict[str, State] = field(default_factory=dict)

    async def do(self, step: Step, act: EngineAct, engine: EngineAt, prompt: tuple[int, ...]) -> StepRecord:
        sent_ns = time.monotonic_ns()
        match act:
            case Decode():
                return await self._decode(step, act, engine, prompt, sent_ns)
            case Prefill():
                answer = await self._call(engine, step, Op.PREFILL, _json({"prompt": list(prompt), "n_predict": 0}))
                self._keep(step.name, answer, len(prompt))
            case Get():
                answer = await self._call(engine, step, Op.STATE_GET, b"")
                self._keep(step.name, answer, 0)
            case Put():
                answer = await self._call(engine, step, Op.STATE_PUT, self._state(act))
            case Meta():
                answer = await self._call(engine, step, Op.STATE_META, b"")
        return _record(step, sent_ns, answer, prompt)

    async def _call(self, engine: EngineAt, step: Step, op: Op, payload: bytes) -> RpcAnswer:
        return await engine.client.call(op, step.slot or 0, payload, step.name, step.deadline_s)

    def _keep(self, name: str, answer: RpcAnswer, n_tok: int) -> None:
        meta = answer.meta
        if answer.word == "OK":
            identity = {key: meta[key] for key in _IDENTITY if key in meta}
            self.states[name] = State(answer.payload, _whole(meta, "logits_size"), n_tok, identity)

    def _state(self, act: Put | Decode) -> bytes:
        kept = self.states.get(act.state_of)
        return b"" if kept is None else reshaped(kept.data, act.form, kept.logits_bytes)

    async def _decode(
        self, step: Step, act: Decode, engine: EngineAt, prompt: tuple[int, ...], sent_ns: int
    ) -> StepRecord:
        answer = await self._call(engine, step, Op.DECODE, self._payload(act, prompt))
        if answer.meta.get("valid") is not True:
            return _record(step, sent_ns, answer, prompt)
        accepted_ns = time.monotonic_ns()
        kept = self.states.get(act.state_of)
        least = min(len(prompt), kept.n_tok if kept is not None else len(prompt)) - 1
        ended = asyncio.Event()
        stored, n_past_ns = await asyncio.gather(
            self._stored(engine, answer.meta.get("decode_request_id"), step.deadline_s, ended),
            self._positioned(engine, step, least, ended),
        )
        told = {
            **stored.body,
            "rpc": answer.word,
            "cached_tokens": _inside(stored.body, "usage", "prompt_tokens_details", "cached_tokens"),
            "n_past_ms": None if n_past_ns is None else _ms(accepted_ns, n_past_ns),
            "stored_ms": _ms(accepted_ns, stored.at_ns),
        }
        text = _inside(stored.body, "choices", 0, "message", "content")
        ids = await self.ids_of(engine.url, text) if isinstance(text, str) and text else ()
        return StepRecord(
            name=step.name,
            sent_ns=sent_ns,
            status=stored.status,
            end_ns=stored.at_ns,
            failure=stored.failure,
            body=told,
            prompt=prompt,
            ids=tuple(ids),
        )

    def _payload(self, act: Decode, prompt: tuple[int, ...]) -> bytes:
        body = _json({"prompt": list(prompt)})
        state = self._state(act)
        known = self.states.get(act.state_of) or next(iter(self.states.values()), None)
        identity = {} if known is None else dict(known.identity)
        digest = {KvHash.GOOD: xxh3_64(state), KvHash.BAD: xxh3_64(state) ^ _BAD_BIT, KvHash.NONE: None}[act.kv_hash]
        prompt_segment, kv_segment = segments_for(body, len(state), digest)
        header = ControlHeader(
            kv_metadata=identity | {"n_past": len(prompt)},
            prompt=prompt_segment,
            kv=kv_segment,
            generation={"n_predict": act.n_predict, "sampling": {"temperature": 0}} | dict(act.body),
        )
        return encode_decode_head(header, body) + state

    async def _stored(self, engine: EngineAt, request_id: object, seconds: float, ended: asyncio.Event) -> _Stored:
        """The stored result once it is one, or why there is none; `ended` is set either way."""

        async def looked() -> _Stored | None:
            async with self.http.get(f"{engine.url}/v1/decode/{request_id}") as response:
                text = await response.text()
                waits = response.status == 202 or (response.status == 404 and _NOT_READY in text)
                return None if waits else _Stored(time.monotonic_ns(), response.status, read_object(text))

        try:
            return await until(seconds, f"the stored result of DECODE {request_id}", looked)
        except DeadlineMissed:
            return _Stored(time.monotonic_ns(), failure="the result was never stored")
        except (aiohttp.ClientError, OSError, UnicodeDecodeError) as error:
            why = f"the stored result could not be read: {type(error).__name__}: {error}"
            return _Stored(time.monotonic_ns(), failure=why)
        finally:
            ended.set()

    async def _positioned(self, engine: EngineAt, step: Step, least: int, ended: asyncio.Event) -> int | None:
        """When STATE_META first said a position of at least so much. Once the reply has `ended` a last look is enough:
        the slot goes nowhere any more."""

        async def looked() -> tuple[int | None] | None:
            last = ended.is_set()
            answer = await engine.client.call(Op.STATE_META, step.slot or 0, b"", step.name, _LOOK_S)
            there = _whole(answer.meta, "n_past") >= least
            return (time.monotonic_ns(),) if there else (None,) if last else None

        with contextlib.suppress(DeadlineMissed):
            (seen_ns,) = await until(step.deadline_s, f"STATE_META to say position {least}", looked)
            return seen_ns
        return None


@dataclass(frozen=True, slots=True)
class _Stored:
    """`status` None: it was not told, and `failure` says why."""

    at_ns: int
    status: int | None = None
    body: Mapping[str, Any] = field(default_factory=dict)
    failure: str = ""


def _record(step: Step, sent_ns: int, answer: RpcAnswer, prompt: Sequence[int]) -> StepRecord:
    body = {**answer.meta, "rpc": answer.word, "payload_bytes": len(answer.payload)}
    return StepRecord(
        name=step.name,
        sent_ns=sent_ns,
        status=200 if answer.word == "OK" else None,
        end_ns=time.monotonic_ns(),
        failure=answer.failure,
        body=body,
        prompt=tuple(prompt),
    )


def _inside(value: Any, *path: str | int) -> Any:
    """What lies there, or None where an engine says something else altogether."""
    for key in path:
        try:
            value = value[key]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def _whole(meta: Mapping[str, Any], name: str) -> int:
    """0 where it is not said, or is no number."""
    value = meta.get(name)
    return value if isinstance(value, int) else 0


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _ms(start_ns: int, end_ns: int) -> float:
    return round((end_ns - start_ns) / 1e6, 3)
