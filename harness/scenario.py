"""A scenario as a frozen value: what is started, what is asked and done, what must be seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from harness.checks.shape import NamedCheck
from harness.interventions import Intervention
from harness.models.catalogue import is_known
from harness.steps.spec import Call, Step

PROVIDER_TEMPLATES = (
    "python",
    "port",
    "rpc_port",
    "decoder_url",
    "prefill_url",
    "model",
    "slot_save_path",
    "tmp",
)
"""What may stand in braces in a provider's command."""

ENGINE_TEMPLATES = ("engine_prefill_url", "engine_prefill_rpc", "engine_decode_rpc")
ROUTER_TEMPLATES = (*PROVIDER_TEMPLATES, "files", *ENGINE_TEMPLATES)
"""What may stand in braces in the flags of a router under test."""

MORE_DECODERS = 3
WHO = ("build", "decoder", *(f"decoder{n}" for n in range(2, MORE_DECODERS + 2)), "prefill", "provider")
"""Whom an intervention may be done to."""


class Kind(StrEnum):
    """What can be under test."""

    ROUTER = "router"
    DECODER = "decoder"
    ENGINE = "engine"

    @property
    def one(self) -> str:
        """With its article, for sentences."""
        return f"an {self}" if self is Kind.ENGINE else f"a {self}"


class Endpoint(StrEnum):
    """The client's endpoint."""

    CHAT = "/v1/chat/completions"
    COMPLETIONS = "/v1/completions"


@dataclass(frozen=True, slots=True)
class SizedPrompt:
    """A prompt of so many tokens, by the decoder's own count after template and BOS; no two requests get the same."""

    tokens: int


@dataclass(frozen=True, slots=True)
class TextPrompt:
    text: str


@dataclass(frozen=True, slots=True)
class SamePrompt:
    """The prompt of an earlier request."""

    same_as: str


@dataclass(frozen=True, slots=True)
class NextTurn:
    """An earlier request's conversation, with its plain reply in it, and `text` as the next thing that is said."""

    follows: str
    text: str


@dataclass(frozen=True, slots=True)
class NoPrompt:
    """Of a call, whose body is written out."""


Prompt = SizedPrompt | TextPrompt | SamePrompt | NextTurn | NoPrompt


@dataclass(frozen=True, slots=True)
class RequestSpec:
    """One request of the client's. `together` sends it without waiting for the reply of the one before.

    A `call` is any request of HTTP, with no prompt that the harness knows of.
    """

    prompt: Prompt
    name: str = ""
    endpoint: Endpoint = Endpoint.CHAT
    stream: bool = False
    max_tokens: int | None = 16
    logprobs: int | None = None
    deadline_s: float = 30.0
    together: bool = False
    body: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    call: Call | None = None


@dataclass(frozen=True, slots=True)
class DecoderSpec:
    """A decoder: our fake with a toy model, or a real server with a model by name.

    `server` says which real one, as `kvgate run --decoder` would be told; else it is the machine's own choice.
    `fake_faults` are played by the fake that stands in for a real one where checks are proven.
    """

    real: bool = False
    server: str = ""
    model: str = ""
    slots: int = 2
    slot_save: bool = True
    faults: tuple[str, ...] = ()
    fake_faults: tuple[str, ...] = ()
    args: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ProviderSpec:
    """A provider command for the router: our fake, or `command` (a template, see `harness.plan`)."""

    faults: tuple[str, ...] = ()
    command: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EngineSpec:
    """An engine: the build under test, or a fake beside it."""

    model: str = ""
    slots: int = 2
    faults: tuple[str, ...] = ()
    args: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RouterSpec:
    """What is said to the router beyond where its decoder is. None leaves a flag out."""

    kv_share: bool | None = None
    slot_save: bool = True
    own_decoder: bool = False
    args: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Scenario:
    """One claim, and how it is seen. `suite` is the folder's name."""

    file: Path
    scenario: str
    under_test: Kind
    requests: tuple[RequestSpec, ...]
    checks: tuple[NamedCheck, ...]
    steps: tuple[Step, ...] = ()
    interventions: tuple[Intervention, ...] = ()
    decoder: DecoderSpec = DecoderSpec()
    more_decoders: tuple[DecoderSpec, ...] = ()
    prefill: DecoderSpec | None = None
    provider: ProviderSpec | None = None
    engine: EngineSpec = EngineSpec()
    peer: EngineSpec | None = None
    engine_prefill: EngineSpec | None = None
    engine_decode: EngineSpec | None = None
    router: RouterSpec = RouterSpec()
    known_red: str = ""
    note: str = ""
    seed: int = 1
    budget_s: float = 120.0

    @property
    def suite(self) -> str:
        return self.file.resolve().parent.name

    @property
    def name(self) -> str:
        """The file's name without its ending: the scenario's identity within the suite."""
        return self.file.stem

    @property
    def decoders(self) -> Mapping[str, DecoderSpec]:
        """The decoders that a router is given, by the names of their journals. Engines stand in their place."""
        if self.engine_decode is not None:
            return {}
        more = {f"decoder{number}": spec for number, spec in enumerate(self.more_decoders, 2)}
        return {"decoder": self.decoder, **more}

    @property
    def fake_engines(self) -> Mapping[str, EngineSpec]:
        """The engines that are started beside the build, by the names of their journals."""
        beside = {"peer": self.peer, "engine_prefill": self.engine_prefill, "engine_decode": self.engine_decode}
        return {who: spec for who, spec in beside.items() if spec is not None}

    @property
    def needs_real(self) -> bool:
        """Whether a real model, and so a real server, has to be there."""
        if self.under_test is Kind.DECODER and is_known(self.decoder.model):
            return True
        return any(spec.real for spec in self.decoders.values()) or (self.prefill is not None and self.prefill.real)
