"""How a build under test is started: which of its flags say what, and how one sees that it is ready.

A profile is data. `kvgate-router` is built in; others are YAML files of the same shape. Templates in braces are
filled in by `harness.plan`; a brace that is meant is written twice.

    {port}             a free port that the harness chose (left out where the build chooses, with port 0)
    {rpc_port}         another one, for an engine's RPC
    {decoder_url}      where the decoder is, when the harness starts it
    {decoder_command}  an executable that takes llama-server's flags, when the build starts its decoder itself
    {model}            the model's path or spec
    {slots}            how many slots the decoder has to have
    {slot_save_path}   the folder for slot files
    {provider_command} the provider's command as one shell word
    {prefill_url}      where the prefill decoder is
    {engine_prefill_url}, {engine_prefill_rpc}, {engine_decode_rpc}
                       where the engines are that a router is put before; the decoding one's HTTP side is {decoder_url}
    {tmp}              a private folder for temporary files
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness import marked_yaml
from harness.errors import UsageError
from harness.near import did_you_mean
from harness.scenario import ENGINE_TEMPLATES, PROVIDER_TEMPLATES, Kind
from harness.shapes import Fields, Key, ListOf, MapOf, OneOf, Place, Regex, Shape, Template, Text

TEMPLATES = (*PROVIDER_TEMPLATES, *ENGINE_TEMPLATES, "slots", "provider_command", "decoder_command")
"""What may stand in braces in a profile."""


@dataclass(frozen=True, slots=True)
class ReadyLine:
    """A line of the build's output shows that it is ready; the group `url` says where it listens.

    For an engine the group `rpc` says where its RPC port is, as HOST:PORT.
    """

    pattern: re.Pattern[str]


@dataclass(frozen=True, slots=True)
class ReadyPath:
    """A GET of this path at the chosen port answers 200."""

    path: str


@dataclass(frozen=True, slots=True)
class Profile:
    """How one make of build is started. Each tuple is a template of words, left out where it does not apply.

    `file` is where it was read from; a profile that is built in has none.
    """

    name: str
    kind: Kind
    ready: ReadyLine | ReadyPath
    argv: tuple[str, ...] = ()
    attach: tuple[str, ...] = ()
    own_decoder: tuple[str, ...] = ()
    slot_save: tuple[str, ...] = ()
    provider: tuple[str, ...] = ()
    prefill: tuple[str, ...] = ()
    engines: tuple[str, ...] = ()
    kv_share: tuple[str, ...] = ()
    no_kv_share: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    file: Path | None = None


@dataclass(frozen=True, slots=True)
class Build:
    """A build under test: a name for tables, a command, how it is started, and its own environment on top."""

    name: str
    command: tuple[str, ...]
    profile: Profile
    env: Mapping[str, str] = field(default_factory=dict)


_ITS_OWN = r"(?m)^(?!(?:decoder|provider): )"
"""Not a line that a router passes on: a decoder that it started listens too."""

KVGATE_ROUTER = Profile(
    name="kvgate-router",
    kind=Kind.ROUTER,
    ready=ReadyLine(re.compile(_ITS_OWN + r".*listening on (?P<url>http://\S+)")),
    argv=("serve", "--host", "127.0.0.1", "--port", "0"),
    attach=("--decoder", "{decoder_url}", "--decoder-cache-ram", "0"),
    own_decoder=("--llama-server", "{decoder_command}", "-m", "{model}"),
    slot_save=("--slot-save-path", "{slot_save_path}"),
    provider=("--provider", "{provider_command}"),
    prefill=("--prefill-url", "{prefill_url}"),
    engines=(
        *("--engine-prefill", "{engine_prefill_rpc}", "--engine-prefill-url", "{engine_prefill_url}"),
        *("--engine-decode", "{engine_decode_rpc}"),
    ),
    kv_share=("--kv-share",),
    no_kv_share=("--no-kv-share",),
)

LLAMA_SERVER = Profile(
    name="llama-server",
    kind=Kind.DECODER,
    ready=ReadyLine(re.compile(r"listening on (?P<url>http://\S+)")),
    argv=("-m", "{model}", "--host", "127.0.0.1", "--port", "0", "--parallel", "{slots}", "--cache-ram", "0"),
    slot_save=("--slot-save-path", "{slot_save_path}"),
)

FAKE_ENGINE = Profile(
    name="engine",
    kind=Kind.ENGINE,
    ready=ReadyLine(re.compile(r"listening on (?P<url>http://\S+) \(RPC on (?P<rpc>\S+)\)")),
    argv=(
        *("-m", "{model}", "--host", "127.0.0.1", "--port", "0", "--rpc-port", "0", "--parallel", "{slots}"),
        "--metrics",
    ),
)

_BUILT_IN = {profile.name: profile for profile in (KVGATE_ROUTER, LLAMA_SERVER, FAKE_ENGINE)}


def default_profile(kind: Kind) -> Profile:
    """The profile of a build of which nothing else is said."""
    return {Kind.ROUTER: KVGATE_ROUTER, Kind.DECODER: LLAMA_SERVER, Kind.ENGINE: FAKE_ENGINE}[kind]


def _ready(line: re.Pattern[str] | None = None, path: str | None = None) -> ReadyLine | ReadyPath:
    if (line is None) == (path is None):
        raise ValueError("expected one of line, path")
    if path is not None:
        return ReadyPath(path)
    assert line is not None
    if "url" not in line.groupindex:
        raise ValueError("the pattern has no group (?P<url>...) that says where the build listens")
    return ReadyLine(line)


_WORDS: Shape[tuple[str, ...]] = ListOf(Template(TEMPLATES))
_KEYS: dict[str, Key[Any]] = {
    "profile": Key(Text(), "its name", required=True),
    "kind": Key(OneOf(tuple(Kind)), "what kind of build", required=True),
    "ready": Key(
        Fields(_ready, {"line": Key(Regex(), "with a group url"), "path": Key(Text())}),
        "how one sees that it is ready",
        required=True,
    ),
    "argv": Key(_WORDS, "flags that are always given"),
    "attach": Key(_WORDS, "how it is told where its decoder is"),
    "own_decoder": Key(_WORDS, "how it is told to start its decoder itself"),
    "slot_save": Key(_WORDS, "how it is told the slot-save folder"),
    "provider": Key(_WORDS, "how it is told its provider"),
    "prefill": Key(_WORDS, "how it is told where the prefill decoder is"),
    "engines": Key(_WORDS, "how it is told where its engines are"),
    "kv_share": Key(_WORDS, "turns the shared route on"),
    "no_kv_share": Key(_WORDS, "turns the shared route off"),
    "env": Key(MapOf(Template(TEMPLATES)), "variables, templates allowed"),
}


def load(path: Path) -> Profile:
    """A profile file. ScenarioError names file, line and key."""
    values: dict[str, Any] = Fields(dict, _KEYS).parse(marked_yaml.read(path), Place(path))
    values["name"] = values.pop("profile")
    return Profile(**values | {"kind": Kind(values["kind"]), "file": path.absolute()})


def named(name_or_path: str) -> Profile:
    """A built-in profile by name, or a file."""
    if name_or_path in _BUILT_IN:
        return _BUILT_IN[name_or_path]
    path = Path(name_or_path)
    if not path.exists():
        near = did_you_mean(name_or_path, _BUILT_IN)
        raise UsageError(f"no such profile: {name_or_path}; it is a file, or one of {', '.join(_BUILT_IN)}{near}")
    return load(path)
