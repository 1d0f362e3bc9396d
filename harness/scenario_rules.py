"""What has to fit together in a scenario beyond the shape of its file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from yaml.nodes import MappingNode, Node

from harness.checks.look import Look
from harness.checks.shape import looks
from harness.checks.steps import StepParity
from harness.errors import ScenarioError
from harness.fake_faults import known_faults
from harness.interventions import Leave, SetFaults, Start, Until
from harness.near import did_you_mean
from harness.scenario import MORE_DECODERS, Kind, NextTurn, Prompt, SamePrompt, Scenario
from harness.shapes import Place
from harness.steps.engine_spec import On
from harness.steps.spec import Damage, Restart, done_to_engines
from harness.steps.spec import problems as step_problems


def check(scenario: Scenario, node: Node) -> None:
    """ScenarioError: two parts of the file, whose top node is handed in, do not fit together."""
    _check_steps(scenario, node)
    _check_engines(scenario, node)
    _check_requests(scenario, node)
    _check_interventions(scenario, node)
    _check_budget(scenario, node)


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
