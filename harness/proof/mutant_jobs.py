"""Which scenario runs a mutant means: its own program in the good build's place, a stand-in for a fake, or faults.

Pure but for folders' names; nothing is started.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from harness.plan import Options
from harness.profiles import Build, default_profile
from harness.proof.crossing import BASE
from harness.proof.mutants import Mutant, Replaces
from harness.proof.pool import ScenarioJob
from harness.scenario import DecoderSpec, Kind, Scenario

# A fake answers at once; where one step waits for another to have begun, it has to take its time as a real one does.
_UNHURRIED = ("--decode-tps", "4000")


def on_fakes(scenario: Scenario) -> Scenario:
    """The scenario with a fake where it wants a real server: a check is proven by what the fake can be made to do.

    What no honest fake does and a real server does, it is told to do: refuse to share, mistake a window of rows for all
    of them under --swa-full, and what the scenario itself says (`fake_faults`).
    """
    share = ("kvshare-refuse",) if scenario.router.kv_share else ()

    def fake(spec: DecoderSpec, *faults: str) -> DecoderSpec:
        if not spec.real:
            return spec
        return replace(spec, real=False, server="", model="", faults=(*faults, *spec.fake_faults), fake_faults=())

    decoder, prefill = fake(scenario.decoder, *share), scenario.prefill and fake(scenario.prefill)
    if scenario.under_test is Kind.DECODER:
        wrong = ("restore-window",) if "--swa-full" in decoder.args else ()
        hurry = _UNHURRIED if any(step.once for step in scenario.steps) else ()
        decoder = replace(decoder, faults=(*decoder.faults, *wrong), args=(*decoder.args, *hurry))
    return replace(scenario, decoder=decoder, prefill=prefill, known_red="")


def is_program(mutant: Mutant) -> bool:
    """Whether the mutant is started as a process of its own."""
    return not mutant.only_faults and mutant.replaces is not Replaces.HARNESS


def build_of_mutant(mutant: Mutant, good: Mapping[Kind, Build]) -> Build:
    """The mutant's own program, started as the good build of its kind is."""
    root, module = mutant.module
    kinds = {Replaces.DECODER: Kind.DECODER, Replaces.ENGINE: Kind.ENGINE}
    kind = kinds.get(mutant.replaces, Kind.ROUTER)
    path = os.pathsep.join(filter(None, [str(root), os.environ.get("PYTHONPATH")]))
    profile = good[kind].profile if kind in good else default_profile(kind)
    return Build(mutant.name, (sys.executable, "-m", module), profile, {"PYTHONPATH": path})


@dataclass(frozen=True, slots=True)
class MutantJobs:
    """The runs of a proof: every scenario on the good build of its kind, and mutants on scenarios."""

    mutants: Sequence[Mutant]
    scenarios: Sequence[Scenario]
    good: Mapping[Kind, Build]
    folder: Path
    full: bool

    def pairs(self) -> Iterator[tuple[Mutant, Scenario]]:
        """In the full cross every mutant meets every scenario, else only those that it is meant for.

        Mutants of few scenarios come first: each has to be seen somewhere anyway, and what they turn red needs no run
        of a mutant that is meant for whole suites.
        """
        met = [(mutant, self._met_by(mutant)) for mutant in self.mutants if mutant.replaces is not Replaces.HARNESS]
        for mutant, scenarios in sorted(met, key=lambda each: len(each[1])):
            for scenario in scenarios:
                yield mutant, scenario

    def _met_by(self, mutant: Mutant) -> list[Scenario]:
        return [each for each in self.scenarios if self.full or mutant.is_meant_for(each.suite, each.name)]

    def job(self, mutant: Mutant | None, scenario: Scenario) -> ScenarioJob:
        """The run of `scenario` on a mutant, or on the good build where `mutant` is None."""
        name = BASE if mutant is None else mutant.name
        build, options = replace(self.good[scenario.under_test], name=name), Options()
        if mutant is not None:
            scenario = _with_faults(scenario, mutant)
            if is_program(mutant) and str(mutant.replaces) == str(scenario.under_test):
                build = build_of_mutant(mutant, self.good)
            elif is_program(mutant):
                options = Options(stand_ins=((str(mutant.replaces), _stand_in(build_of_mutant(mutant, self.good))),))
        if scenario.under_test is Kind.DECODER and scenario.decoder.faults:
            build = replace(build, env={**build.env, "FAKE_FAULTS": ";".join(scenario.decoder.faults)})
        return ScenarioJob(scenario, build, self.folder / name / scenario.suite / scenario.name, options)


def _stand_in(build: Build) -> tuple[str, ...]:
    return ("env", *(f"{name}={value}" for name, value in build.env.items()), *build.command)


def _with_faults(scenario: Scenario, mutant: Mutant) -> Scenario:
    decoder = replace(scenario.decoder, faults=(*scenario.decoder.faults, *mutant.decoder_faults))
    provider = scenario.provider
    if provider is not None:
        provider = replace(provider, faults=(*provider.faults, *mutant.provider_faults))
    return replace(scenario, decoder=decoder, provider=provider)
