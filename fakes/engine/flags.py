"""The fake engine's command line, as one frozen configuration and the ports and files around it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NoReturn

from fakes.engine.blobs import BlobForm
from fakes.engine.config import EngineConfig, Generation, Resident
from fakes.model import ToyModel
from fakes.near import near
from fakes.spec import SpecError, parse_spec
from wire.hydra_identity import Identity

_IDENTITY_TEXTS = ("tokenizer", "model_name", "model_quant", "model_hash")
_CAPABILITIES = "model_capabilities"
_NO_IDENTITY = "none"


class EngineFlagError(Exception):
    """The command line is wrong; the message says how."""


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """An engine and where it listens. Port 0 lets the system choose."""

    config: EngineConfig
    host: str
    port: int
    rpc_port: int
    journal: str | None
    control: str | None
    faults: tuple[str, ...]


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise EngineFlagError(message)


def parse_engine_flags(argv: Sequence[str]) -> EngineOptions:
    """EngineFlagError: an unknown flag, a value that cannot be, a model that is none."""
    found = _parser().parse_args(list(argv))
    try:
        models = tuple(_residents(found))
    except SpecError as error:
        raise EngineFlagError(f"failed to load model: {error}") from None
    config = EngineConfig(
        models=models,
        n_slots=found.parallel,
        n_ctx=(found.ctx_size or models[0].model.spec.ctx) // found.parallel,
        prefill_tps=found.prefill_tps,
        decode_tps=found.decode_tps,
        form=BlobForm(found.state_form),
        generation=Generation(found.decode_generation),
        padding=found.state_padding,
        workers=found.workers,
        waiting=found.waiting,
        idle_s=found.idle_timeout,
        hash_payload=not found.no_payload_hash,
        metrics=found.metrics,
    )
    faults = tuple(found.fault)
    return EngineOptions(config, found.host, found.port, found.rpc_port, found.journal, found.control, faults)


def _parser() -> _Parser:
    parser = _Parser(
        prog="kvgate fake engine",
        description="An engine without a device: the Hydra RPC and its HTTP side on the toy model.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--host", default="127.0.0.1")
    add("--port", type=_count(65535), default=0, help="HTTP port, 0 for any")
    add("--rpc-port", type=_count(65535), default=0, help="RPC port, 0 for any")
    add("-m", "--model", default="toy", help="a toy spec, or a GGUF file that gives the seed")
    add("--alias", default="toy", help="the name of the model that is loaded")
    add("--known-model", action="append", default=[], metavar="ALIAS=SPEC", help="a model that can be swapped in")
    add("-np", "--parallel", type=_count(256, 1), default=1, help="slots")
    add("-c", "--ctx-size", type=_count(1 << 20), default=0, help="context of all slots together")
    add("--prefill-tps", type=_speed, default=None, help="prompt tokens a second; instant without it")
    add("--decode-tps", type=_speed, default=None, help="reply tokens a second; instant without it")
    add("--state-form", choices=[form.value for form in BlobForm], default=BlobForm.AUTO.value)
    add("--decode-generation", choices=[one.value for one in Generation], default=Generation.MERGED.value)
    add("--state-padding", type=_count(1 << 40), default=0, metavar="BYTES", help="makes state as large as real ones")
    add("--identity", action="append", default=[], metavar="KEY=VALUE", help="what the engine says its model is")
    add("--workers", type=_count(1024, 1), default=8, help="RPC connections served at a time")
    add("--waiting", type=_count(1024), default=64, help="RPC connections that wait for a worker")
    add("--idle-timeout", type=_speed, default=120.0, metavar="S", help="silence after which a connection is closed")
    add("--no-payload-hash", action="store_true", help="leave the hash out of PREFILL answers")
    add("--metrics", action="store_true", help="answer GET /metrics")
    add("--journal", default=None, metavar="FILE")
    add("--control", default=None, metavar="SOCKET")
    add("--fault", action="append", default=[], metavar="NAME[=VALUE]")
    return parser


def _residents(found: argparse.Namespace) -> list[Resident]:
    first = _resident(found.alias, found.model)
    residents = [replace(first, identity=_identity(first.identity, found.identity))]
    for text in found.known_model:
        alias, equals, spec = text.partition("=")
        if not equals or not alias:
            raise EngineFlagError(f"argument --known-model: {text!r} is not ALIAS=SPEC")
        residents.append(_resident(alias, spec))
    return residents


def _resident(alias: str, spec: str) -> Resident:
    model = ToyModel(parse_spec(spec))
    shape = model.spec
    name = f"toy-{shape.kind.value}-{shape.layers}x{shape.row_bytes}-{shape.seed}"
    return Resident(alias, model, Identity(f"toy-{shape.vocab}", name, "F32", 0, alias))


def _identity(identity: Identity, settings: Sequence[str]) -> Identity:
    """`none` takes all of it away, as engines of the first generation send it."""
    for text in settings:
        if text == _NO_IDENTITY:
            identity = Identity()
            continue
        key, _, value = text.partition("=")
        if key == _CAPABILITIES:
            identity = replace(identity, capabilities=_count(2**53 - 1)(value))
        elif key in _IDENTITY_TEXTS:
            identity = replace(identity, **{key: value})  # type: ignore[arg-type]
        else:
            known = (*_IDENTITY_TEXTS, _CAPABILITIES, _NO_IDENTITY)
            raise EngineFlagError(f"argument --identity: no field {key!r}{near(key, known)}")
    return identity


class _count:
    """Reads a whole number from `low` to `high`."""

    def __init__(self, high: int, low: int = 0) -> None:
        self._low, self._high = low, high

    def __call__(self, text: str) -> int:
        if not text.isdecimal() or len(text) > 18 or not self._low <= int(text) <= self._high:
            raise EngineFlagError(f"{text!r} is no whole number from {self._low} to {self._high}")
        return int(text)


def _speed(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.0 < value < 1e12:
        raise EngineFlagError(f"{text!r} is no number above 0")
    return value
