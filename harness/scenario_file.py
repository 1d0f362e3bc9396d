"""Scenario files into scenarios. Everything a file can get wrong is found here, with its line.

Knows the words of a scenario, not how one is run.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from harness import marked_yaml
from harness.errors import ScenarioError, UsageError
from harness.interventions import Intervention
from harness.near import did_you_mean
from harness.scenario import Kind, RequestSpec, Scenario
from harness.scenario_rules import check
from harness.scenario_shape import shape
from harness.shapes import Place
from harness.steps.spec import named as steps_named


def load(path: Path) -> Scenario:
    """One scenario file. ScenarioError says file, line, key and, for a mistyped name, what is near."""
    node = marked_yaml.read(path)
    values = shape().parse(node, Place(path))
    values["under_test"] = Kind(values["under_test"])
    values["requests"], values["interventions"] = _apart(values.get("requests", ()))
    values["steps"] = steps_named(values.get("steps", ()))
    scenario = Scenario(file=path, **values)
    check(scenario, node)
    return scenario


def _apart(items: tuple[RequestSpec | Intervention, ...]) -> tuple[tuple[RequestSpec, ...], tuple[Intervention, ...]]:
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
