"""The shape of a scenario file: every key with what it takes and what it means. The published schema is made of it."""

from __future__ import annotations

from typing import Any

from yaml.nodes import MappingNode, Node

from harness.checks.shape import NamedChecks
from harness.fake_faults import FaultNames, known_faults
from harness.interventions import NAMES as INTERVENTIONS
from harness.interventions import Intervention, interventions
from harness.near import did_you_mean
from harness.scenario import (
    PROVIDER_TEMPLATES,
    ROUTER_TEMPLATES,
    WHO,
    DecoderSpec,
    Endpoint,
    EngineSpec,
    Kind,
    NextTurn,
    NoPrompt,
    Prompt,
    ProviderSpec,
    RequestSpec,
    RouterSpec,
    SamePrompt,
    SizedPrompt,
    TextPrompt,
)
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
from harness.steps.spec import CALL, STEPS

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
