"""Which command lines a scenario needs on a build. Pure: a scenario, a build and folders into words and variables."""

from __future__ import annotations

import os
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

from harness.profiles import Build, ReadyPath
from harness.scenario import DecoderSpec, EngineSpec, Kind, ProviderSpec, Scenario

TOY = "toy"
_NEVER_INHERITED = ("FAKE_", "LLAMA_ARG_", "ONEBIT_", "PYTEST_", "KVGATE_", "COV_")

PART = "KVGATE_PART"
"""The variable that says whose child a process is, should it be left behind."""


@dataclass(frozen=True, slots=True)
class Folders:
    """Where one run keeps its evidence, and its scratch folder, whose path is short enough for sockets."""

    evidence: Path
    scratch: Path

    @property
    def tmp(self) -> Path:
        return self.scratch / "tmp"

    @property
    def slots(self) -> Path:
        return self.scratch / "slots"

    @property
    def files(self) -> Path:
        return self.scratch / "files"

    @property
    def cwd(self) -> Path:
        return self.scratch / "cwd"

    def make(self) -> None:
        self.evidence.mkdir(parents=True, exist_ok=True)
        for folder in (self.scratch, self.tmp, self.slots, self.cwd):
            folder.mkdir(mode=0o700, exist_ok=True)


@dataclass(frozen=True, slots=True)
class Options:
    """What a person asked for on top of the scenario.

    `model` and `decoder_args` go to every decoder; `real` makes a missing real server or model an ERROR instead of
    a skip; `checks` are the only ones to be judged; `ready_s` is how long the build may take until it is ready.
    `stand_ins` are commands that are started in place of a fake: pairs of `decoder` or `provider` and the words.
    """

    model: str | None = None
    decoder_args: tuple[str, ...] = ()
    real: bool = False
    checks: frozenset[str] | None = None
    ready_s: float = 20.0
    stand_ins: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def program(self, part: str) -> tuple[str, ...]:
        """What starts the fake decoder or provider, or what stands in for it."""
        return dict(self.stand_ins).get(part) or (sys.executable, "-m", _FAKES[part])


_FAKES = {
    "decoder": "fakes.decoder_server",
    "engine": "fakes.engine_server",
    "provider": "fakes.provider",
}


@dataclass(frozen=True, slots=True)
class Addresses:
    """What is known once the decoders run."""

    decoder_url: str = ""
    more_decoder_urls: tuple[str, ...] = ()
    prefill_url: str = ""
    engine_prefill_url: str = ""
    engine_prefill_rpc: str = ""
    engine_decode_rpc: str = ""
    port: int = 0
    rpc_port: int = 0
    model: str = TOY


def base_env(part: str, folders: Folders) -> dict[str, str]:
    """The person's own environment, without what would change a build or a fake behind the scenario's back.

    A build writes no bytecode: the tree that it comes from must look the same after the run.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_NEVER_INHERITED)}
    private = {"TMPDIR": str(folders.tmp), "XDG_RUNTIME_DIR": str(folders.tmp), PART: part}
    if part == "build":
        private["PYTHONDONTWRITEBYTECODE"] = "1"
    return kept | private


def fake_decoder_argv(spec: DecoderSpec, who: str, folders: Folders, options: Options, seed: int) -> list[str]:
    """llama-server's flags and the fake's own."""
    return [
        *decoder_flags(spec, options.model or spec.model or TOY, folders, options),
        *("--journal", str(folders.evidence / f"{who}.jsonl")),
        *("--control", str(folders.scratch / f"{who}.sock")),
        *(word for fault in spec.faults for word in ("--fault", _seeded(fault, seed))),
        *("--seed", str(seed)),
    ]


def _seeded(fault: str, seed: int) -> str:
    """A fault that is played by chance is played by the scenario's chance."""
    return f"{fault},seed={seed}" if ",p=" in fault and ",seed=" not in fault else fault


def decoder_flags(spec: DecoderSpec, model: str, folders: Folders, options: Options) -> list[str]:
    """The flags of a decoder as the scenario wants it: explicit slots, no host-memory cache."""
    slot_save = ("--slot-save-path", str(folders.slots)) if spec.slot_save else ()
    return [
        *("-m", model, "--host", "127.0.0.1", "--port", "0"),
        *("--parallel", str(spec.slots), "--cache-ram", "0", *slot_save),
        *spec.args,
        *options.decoder_args,
    ]


def provider_command(spec: ProviderSpec, folders: Folders, addresses: Addresses, options: Options, seed: int) -> str:
    """The provider's command as a shell would take it."""
    if spec.command:
        values = template_values(folders, addresses)
        return shlex.join(word.format_map(values) for word in spec.command)
    journal = folders.evidence / "provider.jsonl"
    faults = [word for fault in spec.faults for word in ("--fault", _seeded(fault, seed))]
    return shlex.join([*options.program("provider"), "--journal", str(journal), *faults])


def template_values(folders: Folders, addresses: Addresses) -> dict[str, str]:
    """What braces in a template stand for."""
    return {
        "python": sys.executable,
        "port": str(addresses.port),
        "rpc_port": str(addresses.rpc_port),
        "decoder_url": addresses.decoder_url,
        "prefill_url": addresses.prefill_url,
        "engine_prefill_url": addresses.engine_prefill_url,
        "engine_prefill_rpc": addresses.engine_prefill_rpc,
        "engine_decode_rpc": addresses.engine_decode_rpc,
        "model": addresses.model,
        "slot_save_path": str(folders.slots),
        "files": str(folders.files),
        "tmp": str(folders.tmp),
    }


def build_argv(scenario: Scenario, build: Build, folders: Folders, addresses: Addresses, options: Options) -> list[str]:
    """The whole command line of the build under test."""
    profile, router = build.profile, scenario.router
    words = [*profile.argv]
    words += profile.own_decoder if router.own_decoder else profile.attach
    for url in addresses.more_decoder_urls:
        words += [word.replace("{decoder_url}", url) for word in profile.attach]
    if router.slot_save and scenario.decoder.slot_save and scenario.engine_decode is None:
        words += profile.slot_save
    if scenario.provider is not None:
        words += profile.provider
    elif scenario.prefill is not None:
        words += profile.prefill
    if scenario.engine_decode is not None:
        words += profile.engines
    if router.kv_share is not None:
        words += profile.kv_share if router.kv_share else profile.no_kv_share
    values = _build_values(scenario, folders, addresses, options)
    more = {
        Kind.ROUTER: tuple(word.format_map(values) for word in router.args),
        Kind.DECODER: (*scenario.decoder.args, *options.decoder_args),
        Kind.ENGINE: scenario.engine.args,
    }[scenario.under_test]
    return [*build.command, *(word.format_map(values) for word in words), *more]


def build_env(
    scenario: Scenario, build: Build, folders: Folders, addresses: Addresses, options: Options
) -> dict[str, str]:
    """The environment of the build under test; the scenario's word counts over the build's."""
    values = _build_values(scenario, folders, addresses, options)
    profile = {name: value.format_map(values) for name, value in build.profile.env.items()}
    return (
        base_env("build", folders)
        | own_decoder_env(scenario, folders)
        | engine_env(scenario, folders)
        | profile
        | dict(build.env)
        | dict(scenario.router.env)
    )


def own_decoder_env(scenario: Scenario, folders: Folders) -> dict[str, str]:
    """The fake's own flags as variables, for a fake that the build starts itself."""
    if not scenario.router.own_decoder:
        return {}
    return {
        "FAKE_JOURNAL": str(folders.evidence / "decoder.jsonl"),
        "FAKE_CONTROL": str(folders.scratch / "decoder.sock"),
        "FAKE_FAULTS": ";".join(_seeded(fault, scenario.seed) for fault in scenario.decoder.faults),
        "FAKE_PROVIDER_JOURNAL": str(folders.evidence / "provider.jsonl"),
    }


def engine_env(scenario: Scenario, folders: Folders) -> dict[str, str]:
    """The fake engine's own flags as variables, so that its command line is that of any engine."""
    if scenario.under_test is not Kind.ENGINE:
        return {}
    return {
        "FAKE_JOURNAL": str(folders.evidence / "engine.jsonl"),
        "FAKE_FAULTS": ";".join(_seeded(fault, scenario.seed) for fault in scenario.engine.faults),
    }


def fake_engine_argv(spec: EngineSpec, who: str, folders: Folders, seed: int) -> list[str]:
    """The fake engine's flags."""
    return [
        *("-m", spec.model or TOY, "--host", "127.0.0.1", "--port", "0", "--rpc-port", "0"),
        *("--parallel", str(spec.slots)),
        *("--journal", str(folders.evidence / f"{who}.jsonl")),
        *("--control", str(folders.scratch / f"{who}.sock")),
        *(word for fault in spec.faults for word in ("--fault", _seeded(fault, seed))),
        *spec.args,
    ]


def _build_values(scenario: Scenario, folders: Folders, addresses: Addresses, options: Options) -> dict[str, str]:
    provider = scenario.provider
    command = "" if provider is None else provider_command(provider, folders, addresses, options, scenario.seed)
    return template_values(folders, addresses) | {
        "slots": str(_slots(scenario)),
        "provider_command": command,
        "decoder_command": str(folders.scratch / "llama-server"),
    }


def _slots(scenario: Scenario) -> int:
    return scenario.engine.slots if scenario.under_test is Kind.ENGINE else scenario.decoder.slots


def decoder_wrapper(options: Options) -> str:
    """An executable that stands where `llama-server` is wanted."""
    return f'#!/bin/sh\nexec {shlex.join(options.program("decoder"))} "$@"\n'


def model_of(scenario: Scenario, options: Options) -> str:
    """What is given as `-m` where no decoder of ours is there to say."""
    said = scenario.engine.model if scenario.under_test is Kind.ENGINE else scenario.decoder.model
    return options.model or said or TOY


def needs_port(build: Build) -> bool:
    """Whether the harness has to choose the build's port, since no line of its output tells it."""
    return isinstance(build.profile.ready, ReadyPath)
