"""A scenario file into a frozen `Scenario`. Everything a file can get wrong is found here, with its line.

Knows the words of a scenario, not how one is run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from yaml.nodes import MappingNode, Node

from harness import marked_yaml
from harness.checks.look import Look
from harness.checks.shape import NamedCheck, NamedChecks, looks
from harness.checks.steps import StepParity
from harness.errors import ScenarioError, UsageError
from harness.fake_faults import FaultNames, known_faults
from harness.interventions import NAMES as INTERVENTIONS
from harness.interventions import Intervention, Leave, SetFaults, Start, Until, interventions
from harness.models.catalogue import is_known
from harness.near import did_you_mean
from harness.shapes import (
    AnyText,
    Either,
    Fields,
    Flag,
    Key,
    ListOf,
    MapOf,
    OneOf,
    Place,
    Plain,
    Seconds,
    Shape,
    Template,
    Text,
    Whole,
)
from harness.steps.engine_spec import On
from harness.steps.spec import CALL, STEPS, Call, Damage, Restart, Step, done_to_engines
from harness.steps.spec import named as steps_named
from harness.steps.spec import problems as step_problems

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


_NAME = Text(r"[A-Za-z0-9_.-]+", "a name of letters, digits, '_', '-' and '.'")
_WORDS: Shape[tuple[str, ...]] = ListOf(Text())


class _FaultList:
    """Names of faults, each with its value and limits, as the fakes' own flag takes them."""

    def __init__(self, *players: str) -> None:
        self._players = players

    def parse(self, node: Node, place: Place) -> tuple[str, ...]:
        found = ListOf(Text(means="a fault's name")).parse(node, place)
        known = known_faults() if found else FaultNames({})
        for index, fault in enumerate(found):
            name = fault.split("=")[0].split(",")[0]
            item = node.value[index]
            if name not in known.players:
                (place / index).refuse(item, f"unknown fault {name!r}{did_you_mean(name, known.players)}")
            if known.players[name] not in self._players:
                (place / index).refuse(item, f"the fault {name!r} is played by the {known.players[name]}")
        return found

    def schema(self) -> dict[str, Any]:
        return _WORDS.schema()


def _decoder(**values: Any) -> DecoderSpec:
    spec = DecoderSpec(**values)
    if spec.real and not spec.model:
        raise ValueError("a real decoder needs the name of a model: `model`")
    if spec.real and spec.faults:
        raise ValueError("a real decoder plays no faults")
    if (spec.server or spec.fake_faults) and not spec.real:
        raise ValueError("`server` and `fake_faults` are of a real decoder: `real: true`")
    return spec


_DECODER = Fields(
    _decoder,
    {
        "real": Key(Flag(), "a real llama-server instead of the fake"),
        "server": Key(Text(), "which real server, such as xllamacpp==VERSION; the default one unless said"),
        "model": Key(Text(), "the toy model's spec, or a real model's name"),
        "slots": Key(Whole(1, 64), "how many slots, 2 unless said"),
        "slot_save": Key(Flag(), "whether it has a folder for slot files; true unless said"),
        "faults": Key(_FaultList("decoder"), "what the decoder does wrong"),
        "fake_faults": Key(_FaultList("decoder"), "what makes a fake do as this real one does, for `kvgate prove`"),
        "args": Key(_WORDS, "more of llama-server's flags"),
    },
)


def _provider(**values: Any) -> ProviderSpec:
    spec = ProviderSpec(**values)
    if spec.command and spec.faults:
        raise ValueError("a provider by command plays no faults of ours")
    return spec


_PROVIDER = Fields(
    _provider,
    {
        "faults": Key(_FaultList("provider"), "what the provider does wrong"),
        "command": Key(ListOf(Template(PROVIDER_TEMPLATES)), "another provider's command, word by word"),
    },
)

_ENGINE = Fields(
    EngineSpec,
    {
        "model": Key(Text(), "the toy model's spec, or a model's path for a real engine"),
        "slots": Key(Whole(1, 64), "how many slots, 2 unless said"),
        "faults": Key(_FaultList("engine"), "what the engine does wrong, where it is our fake"),
        "args": Key(_WORDS, "more of its flags"),
    },
)

_ROUTER_WORDS: Shape[tuple[str, ...]] = ListOf(Template(ROUTER_TEMPLATES))

_ROUTER = Fields(
    RouterSpec,
    {
        "kv_share": Key(Flag(), "whether the shared route is asked for; left out, the router's own default"),
        "slot_save": Key(Flag(), "whether there is a slot-save folder, so a state-file route; true unless said"),
        "own_decoder": Key(Flag(), "the router starts the decoder itself instead of being given its address"),
        "args": Key(_ROUTER_WORDS, "more flags for the build under test"),
        "files": Key(MapOf(AnyText()), "files with this text, for flags that name them as {files}/NAME"),
        "env": Key(MapOf(Text()), "variables for the build under test"),
    },
)


def _prompt(
    tokens: int | None = None, same_as: str | None = None, text: str | None = None, follows: str | None = None
) -> Prompt:
    if follows is not None:
        if text is None or tokens is not None or same_as is not None:
            raise ValueError("expected follows and text, and nothing else")
        return NextTurn(follows, text)
    given = [each for each in (tokens, same_as, text) if each is not None]
    if len(given) != 1:
        raise ValueError("expected one of tokens, same_as, text")
    if tokens is not None:
        return SizedPrompt(tokens)
    return SamePrompt(same_as) if same_as is not None else TextPrompt(str(text))


class _JustText:
    def parse(self, node: Node, place: Place) -> Prompt:
        return TextPrompt(Text(means="a prompt: text, or {tokens: N}, or {same_as: NAME}").parse(node, place))

    def schema(self) -> dict[str, Any]:
        return Text().schema()


_PROMPT_KEYS: dict[str, Key[Any]] = {
    "tokens": Key(Whole(1, 1_000_000), "so many tokens, by the decoder's own count after template and BOS"),
    "same_as": Key(_NAME, "the prompt of an earlier request"),
    "text": Key(Text(), "this text"),
    "follows": Key(_NAME, "the conversation of an earlier request goes on with `text`"),
}
_PROMPT: Shape[Prompt] = Either(Fields(_prompt, _PROMPT_KEYS), _JustText())

_ENDPOINTS = {"chat": Endpoint.CHAT, "completions": Endpoint.COMPLETIONS}


def _request(**values: Any) -> RequestSpec:
    if ("prompt" in values) == ("call" in values):
        raise ValueError("expected one of prompt, call")
    if "call" in values:
        values["prompt"] = NoPrompt()
    if "endpoint" in values:
        values["endpoint"] = _ENDPOINTS[values["endpoint"]]
    return RequestSpec(**values)


_REQUEST = Fields(
    _request,
    {
        "name": Key(_NAME, "how checks and other requests call it; its number unless said"),
        "prompt": Key(_PROMPT, "what is asked"),
        "call": Key(CALL, "any request, instead of a prompt"),
        "headers": Key(MapOf(Text()), "more headers"),
        "endpoint": Key(OneOf(tuple(_ENDPOINTS)), "chat unless said"),
        "stream": Key(Flag()),
        "max_tokens": Key(Whole(0), "16 unless said"),
        "logprobs": Key(Whole(1, 20), "ask for this many top log probabilities, so that ids and margins are known"),
        "deadline_s": Key(Seconds(), "30 unless said"),
        "together": Key(Flag(), "sent without waiting for the reply of the one before"),
        "body": Key(MapOf(Plain()), "more fields of the request's body"),
    },
)

_INTERVENTION = interventions(WHO)


class _RequestOrIntervention:
    """An item of `requests`; the keys tell which."""

    def parse(self, node: Node, place: Place) -> RequestSpec | Intervention:
        keys = {key.value for key, _ in node.value} if isinstance(node, MappingNode) else set()
        found: RequestSpec | Intervention = (_INTERVENTION if keys & INTERVENTIONS else _REQUEST).parse(node, place)
        return found

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [_REQUEST.schema(), _INTERVENTION.schema()]}


_SCENARIO_KEYS: dict[str, Key[Any]] = {
    "scenario": Key(Text(), "the claim, in words", required=True),
    "under_test": Key(OneOf(tuple(Kind)), "what kind of build", required=True),
    "known_red": Key(Text(), "why this is red today; an unexpected ok then fails"),
    "note": Key(
        Template(("prompt_n", "plain_prompt_n")), "a line to print when it has run, both counts filled in for its names"
    ),
    "seed": Key(Whole(), "for everything random, 1 unless said"),
    "budget_s": Key(Seconds(), "for the whole run, 120 unless said; more than all its deadlines together"),
    "decoder": Key(_DECODER),
    "more_decoders": Key(ListOf(_DECODER, least=1), "decoders beside the first: decoder2, decoder3, decoder4"),
    "prefill": Key(_DECODER, "a second decoder that prefills"),
    "provider": Key(_PROVIDER),
    "engine": Key(_ENGINE, "the engine under test"),
    "peer": Key(_ENGINE, "a fake engine beside the one under test"),
    "engine_prefill": Key(_ENGINE, "a fake engine on which the router prefills"),
    "engine_decode": Key(_ENGINE, "a fake engine on which the router decodes"),
    "router": Key(_ROUTER),
    "requests": Key(ListOf(_RequestOrIntervention(), least=1), "what a client asks, and what is done meanwhile"),
    "steps": Key(STEPS, "what is done to a decoder or an engine under test, instead of requests"),
    "checks": Key(NamedChecks(), required=True),
}


def shape() -> Fields[dict[str, Any]]:
    """The shape of a whole file."""
    return Fields(dict, _SCENARIO_KEYS)


def load(path: Path) -> Scenario:
    """One scenario file. ScenarioError says file, line, key and, for a mistyped name, what is near."""
    node = marked_yaml.read(path)
    values = shape().parse(node, Place(path))
    values["under_test"] = Kind(values["under_test"])
    values["requests"], values["interventions"] = _apart(values.get("requests", ()))
    values["steps"] = steps_named(values.get("steps", ()))
    scenario = Scenario(file=path, **values)
    _check_steps(scenario, node)
    _check_engines(scenario, node)
    _check_requests(scenario, node)
    _check_interventions(scenario, node)
    _check_budget(scenario, node)
    return scenario


def _apart(
    items: tuple[RequestSpec | Intervention, ...],
) -> tuple[tuple[RequestSpec, ...], tuple[Intervention, ...]]:
    """The requests, and the interventions with how many requests are sent before each."""
    requests: list[RequestSpec] = []
    done: list[Intervention] = []
    for item in items:
        if isinstance(item, Intervention):
            done.append(replace(item, before=len(requests)))
        else:
            requests.append(item)
    return _named(tuple(requests)), tuple(done)


def _named(requests: tuple[RequestSpec, ...]) -> tuple[RequestSpec, ...]:
    return tuple(each if each.name else replace(each, name=str(number)) for number, each in enumerate(requests, 1))


def _at(node: Node, key: str) -> Node:
    """Where a top-level key stands, or the whole file."""
    assert isinstance(node, MappingNode)
    return next((key_node for key_node, _ in node.value if key_node.value == key), node)


def _check_steps(scenario: Scenario, node: Node) -> None:
    place = Place(scenario.file, ("steps",))
    if bool(scenario.steps) == bool(scenario.requests):
        Place(scenario.file).refuse(_at(node, "steps"), "expected one of requests, steps")
    if scenario.steps and scenario.under_test is Kind.ROUTER:
        place.refuse(_at(node, "steps"), "steps are done to a decoder or an engine, not to a router")
    if done_to_engines(scenario.steps) and scenario.under_test is not Kind.ENGINE:
        place.refuse(_at(node, "steps"), "these steps are done to an engine: `under_test: engine`")
    if scenario.under_test is Kind.ENGINE and any(isinstance(step.act, Restart | Damage) for step in scenario.steps):
        place.refuse(_at(node, "steps"), "an engine is neither restarted nor has it files to damage")
    if scenario.peer is None and any(step.on is On.PEER for step in scenario.steps):
        place.refuse(_at(node, "steps"), "a step is done to the peer, and there is no `peer`")
    for problem in step_problems(scenario.steps):
        place.refuse(_at(node, "steps"), problem)


def _check_engines(scenario: Scenario, node: Node) -> None:
    if (scenario.engine_prefill is None) != (scenario.engine_decode is None):
        Place(scenario.file).refuse(_at(node, "engine_prefill"), "engine_prefill and engine_decode belong together")
    if scenario.engine_decode is None:
        return
    if scenario.under_test is not Kind.ROUTER:
        Place(scenario.file).refuse(_at(node, "engine_decode"), "engines stand behind a router: `under_test: router`")
    for key in ("decoder", "more_decoders", "provider", "prefill"):
        if _at(node, key) is not node:
            Place(scenario.file, (key,)).refuse(_at(node, key), "engines stand in its place")


def _check_requests(scenario: Scenario, node: Node) -> None:
    place = Place(scenario.file, ("requests",))
    earlier: list[str] = []
    for request in scenario.requests:
        if request.name in earlier:
            place.refuse(_at(node, "requests"), f"two requests are called {request.name!r}")
        named_prompt = _named_prompt(request.prompt)
        if named_prompt is not None and named_prompt not in earlier:
            problem = f"no earlier request is called {named_prompt!r}{did_you_mean(named_prompt, earlier)}"
            (place / request.name).refuse(_at(node, "requests"), problem)
        earlier.append(request.name)
    earlier += [step.name for step in scenario.steps]
    earlier += [each.name for each in scenario.interventions if each.name]
    for named in scenario.checks:
        for look in looks(named.check):
            for name in _named_in(look):
                if name in earlier:
                    continue
                what = "step" if scenario.steps else "request"
                problem = f"no {what} is called {name!r}{did_you_mean(name, earlier)}"
                raise ScenarioError(scenario.file, named.line, f"checks.{named.name}", problem)


def _named_prompt(prompt: Prompt) -> str | None:
    """The request that the prompt speaks of."""
    if isinstance(prompt, NextTurn):
        return prompt.follows
    return prompt.same_as if isinstance(prompt, SamePrompt) else None


def _check_interventions(scenario: Scenario, node: Node) -> None:
    place, at = Place(scenario.file, ("requests",)), _at(node, "requests")
    if scenario.requests == () and scenario.interventions:
        place.refuse(at, "there is no request")
    if scenario.interventions and scenario.under_test is not Kind.ROUTER:
        place.refuse(at, "only a router's requests can have something done between them")
    if len(scenario.more_decoders) > MORE_DECODERS:
        Place(scenario.file).refuse(_at(node, "more_decoders"), f"at most {MORE_DECODERS} more decoders")
    there = _there(scenario)
    for each in scenario.interventions:
        if each.who not in there:
            place.refuse(at, f"there is no {each.who}{did_you_mean(each.who, there)}")
        sent = [request.name for request in scenario.requests[: each.before]]
        if isinstance(each.act, Leave) and each.act.request not in sent:
            name = each.act.request
            place.refuse(at, f"no request before it is called {name!r}{did_you_mean(name, sent)}")
        if isinstance(each.act, Start | SetFaults) and each.act.faults:
            _check_faults(each.act.faults, place, at)


def _there(scenario: Scenario) -> list[str]:
    found = ["build", *scenario.decoders]
    found += ["prefill"] if scenario.prefill is not None else []
    return found + (["provider"] if scenario.provider is not None else [])


def _check_faults(faults: Iterable[str], place: Place, node: Node) -> None:
    known = known_faults().players
    for fault in faults:
        name = fault.split("=")[0].split(",")[0]
        if name not in known:
            place.refuse(node, f"unknown fault {name!r}{did_you_mean(name, known)}")


def _named_in(look: Look) -> Iterator[str]:
    """The requests or steps that a look speaks of."""
    if look.request is not None:
        yield look.request
    if isinstance(look.expected, StepParity):
        yield look.expected.of
        yield look.expected.other


def _check_budget(scenario: Scenario, node: Node) -> None:
    bounds = sum(request.deadline_s for request in scenario.requests)
    bounds += sum(step.deadline_s for step in scenario.steps)
    bounds += sum(each.act.deadline_s for each in scenario.interventions if isinstance(each.act, Until))
    if scenario.budget_s <= bounds:
        problem = f"{scenario.budget_s:g} s do not exceed the deadlines, {bounds:g} s together"
        Place(scenario.file, ("budget_s",)).refuse(_at(node, "budget_s"), problem)
    for named in scenario.checks:
        for look in looks(named.check):
            if look.within_s is not None and look.within_s >= scenario.budget_s:
                problem = f"within {look.within_s:g} s is not below the budget of {scenario.budget_s:g} s"
                raise ScenarioError(scenario.file, named.line, f"checks.{named.name}", problem)


def find(paths: Iterable[Path]) -> tuple[Scenario, ...]:
    """The scenarios of files and folders, sorted within each folder; names of checks are unique within a suite."""
    files: list[Path] = []
    for path in paths:
        if path.is_dir():
            found = sorted(path.rglob("*.yaml"))
            if not found:
                raise UsageError(f"{path}: there is no scenario (*.yaml) in this folder")
            files += found
        elif path.exists():
            files.append(path)
        else:
            raise UsageError(f"{path}: no such file or folder{_near_path(path)}")
    scenarios = tuple(load(path) for path in dict.fromkeys(files))
    _check_unique(scenarios)
    return scenarios


def _near_path(path: Path) -> str:
    parent = path.parent
    names = sorted(each.name for each in parent.iterdir()) if parent.is_dir() else []
    return did_you_mean(path.name, names)


def _check_unique(scenarios: Iterable[Scenario]) -> None:
    seen: dict[tuple[Path, str], Scenario] = {}
    for scenario in scenarios:
        for named in scenario.checks:
            other = seen.setdefault((scenario.file.resolve().parent, named.name), scenario)
            if other is not scenario:
                problem = f"the suite has this check already, in {other.file.name}"
                raise ScenarioError(scenario.file, named.line, f"checks.{named.name}", problem)
