"""pytest's side of kvgate: one item for each check of a scenario, one run for each scenario.

    pytest scenarios/hybrid_route                    every check of the suite
    pytest scenarios/hybrid_route -k "pinned and slot" --kvgate-router 'my-router'
    checks = Suite("hybrid_route")                   in a gates module: the same items there

Items of a scenario stay on one xdist worker. FAIL is a failure, ERROR an error in setup, what a build leaves behind
an error in the teardown of the scenario's last item, so that it is shown and not counted among the checks.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from harness.checks.shape import NamedCheck
from harness.errors import HarnessError, Unavailable, UsageError
from harness.plan import Options
from harness.profiles import Build
from harness.proof.contenders import build_of
from harness.real import wheel
from harness.result import CheckResult, ScenarioResult, Status
from harness.runner import run_scenario
from harness.scenario import Kind, Scenario
from harness.scenario_file import load
from harness.selection import select
from harness.session import Session

_NOTE = "kvgate_note"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("kvgate")
    for kind in Kind:
        group.addoption(f"--kvgate-{kind}", metavar="CMD", help=f"the {kind} under test")
    group.addoption("--kvgate-profile", metavar="FILE", help="how the build under test is started")
    group.addoption("--real", action="store_true", help="a real server or model that is missing is an error")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "real: needs a real llama-server and a model")
    config.stash[_RUNS] = Runs(config)


def pytest_unconfigure(config: pytest.Config) -> None:
    config.stash[_RUNS].close()


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> ScenarioFile | None:
    if file_path.suffix != ".yaml" or not _SCENARIO_KEY.search(file_path.read_text("utf-8", "replace")):
        return None
    found: ScenarioFile = ScenarioFile.from_parent(parent, path=file_path)
    return found


_SCENARIO_KEY = re.compile(r"^scenario\s*:", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Suite:
    """Names a suite in a gates module, where its checks are collected. A name or a path, as `kvgate run` takes it."""

    name: str


def pytest_pycollect_makeitem(collector: pytest.Collector, name: str, obj: object) -> list[pytest.Item] | None:
    if not isinstance(obj, Suite):
        return None
    try:
        scenarios = select([obj.name])
    except UsageError as error:
        raise collector.CollectError(str(error)) from None
    return [item for scenario in scenarios for item in _items(collector, scenario, f"{scenario.name}-")]


class ScenarioFile(pytest.File):
    """A scenario file; its items are its checks."""

    def collect(self) -> Iterator[pytest.Item]:
        try:
            scenario = load(self.path)
        except HarnessError as error:
            raise self.CollectError(str(error)) from None
        yield from _items(self, scenario, "")


def _items(parent: pytest.Collector, scenario: Scenario, prefix: str) -> Iterable[pytest.Item]:
    return [
        CheckItem.from_parent(parent, name=prefix + slug(named.name), scenario=scenario, named=named)
        for named in scenario.checks
    ]


def slug(name: str) -> str:
    """A check's name as part of a node id."""
    return re.sub(r"[^a-z0-9.]+", "_", name.lower()).strip("_")


class CheckItem(pytest.Item):
    """One check."""

    def __init__(self, *, scenario: Scenario, named: NamedCheck, **rest: Any) -> None:
        super().__init__(**rest)
        self.scenario, self.named = scenario, named
        self.add_marker(pytest.mark.xdist_group(f"{scenario.suite}/{scenario.name}"))
        if scenario.needs_real:
            self.add_marker(pytest.mark.real)

    def setup(self) -> None:
        runs = self.config.stash[_RUNS]
        try:
            result = runs.result(self.scenario)
        except Unavailable as missing:
            if asked_for_real(self.config):
                raise
            pytest.skip(str(missing))
        for note in result.notes:
            self.user_properties.append((_NOTE, note))
        check = self._check()
        if check.status is Status.SKIP:
            pytest.skip(check.detail)
        if check.status is Status.ERROR:
            raise NotObserved(check, result)

    def runtest(self) -> None:
        check = self._check()
        if check.status is not Status.OK:
            raise CheckFailed(check, self.config.stash[_RUNS].result(self.scenario))

    def _check(self) -> CheckResult:
        result = self.config.stash[_RUNS].result(self.scenario)
        return next(check for check in result.checks if check.check == self.named.name)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, CheckFailed | LeftBehind | HarnessError | pytest.UsageError):
            return str(excinfo.value)
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.scenario.file, self.named.line - 1, self.named.name


def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    if not isinstance(item, CheckItem):
        return
    if isinstance(nextitem, CheckItem) and nextitem.scenario == item.scenario:
        return
    result = item.config.stash[_RUNS].known(item.scenario)
    if result is not None and result.left_behind:
        raise LeftBehind(result)


class CheckFailed(Exception):
    """A check that is FAIL; what was expected, seen and where, and how to run it alone."""

    def __init__(self, check: CheckResult, result: ScenarioResult) -> None:
        where = f"\nin {result.folder}/{check.where}" if check.where else f"\nin {result.folder}"
        again = f"\nagain: {result.rerun} --check {shlex.quote(check.check)}"
        super().__init__(f"{check.status}: {check.check}\n{check.detail}{where}{again}")


class NotObserved(CheckFailed):
    """A check that is ERROR."""


class LeftBehind(Exception):
    """What the build left behind."""

    def __init__(self, result: ScenarioResult) -> None:
        found = "\n".join(f"  {each}" for each in result.left_behind)
        super().__init__(f"FAIL: nothing is left behind\n{found}\nin {result.folder}\nagain: {result.rerun}")


@dataclass(slots=True)
class Runs:
    """The scenarios that this worker has run, each once."""

    config: pytest.Config
    _results: dict[tuple[Path, Kind], ScenarioResult] = field(default_factory=dict)
    _session: Session | None = None

    def known(self, scenario: Scenario) -> ScenarioResult | None:
        return self._results.get((scenario.file.resolve(), scenario.under_test))

    def result(self, scenario: Scenario) -> ScenarioResult:
        found = self.known(scenario)
        if found is None:
            found = self._run(scenario)
            self._results[scenario.file.resolve(), scenario.under_test] = found
        return found

    def _run(self, scenario: Scenario) -> ScenarioResult:
        if self._session is None:
            self._session = Session()
        build = self.build(scenario.under_test)
        folder = self._folder() / scenario.suite / scenario.name
        options = Options(real=asked_for_real(self.config))
        return run_scenario(scenario, build, folder=folder, options=options, session=self._session)

    def _folder(self) -> Path:
        base: Path = self.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
        return base / "kvgate"

    def build(self, kind: Kind) -> Build:
        """The build under test of a kind. pytest.UsageError where none was named, or it is not there."""
        command = self.config.getoption(f"--kvgate-{kind}") or _default_command(kind)
        if command is None:
            raise pytest.UsageError(f"these scenarios put {kind.one} under test: say --kvgate-{kind} CMD")
        try:
            profile = self.config.getoption("--kvgate-profile")
            return build_of("build", command, kind=kind, profile=profile, said_by=f"--kvgate-{kind}")
        except UsageError as error:
            raise pytest.UsageError(str(error)) from None

    def close(self) -> None:
        if self._session is not None:
            self._session.close()


def asked_for_real(config: pytest.Config) -> bool:
    """Whether the real set was asked for, so that what is missing of it is an error and no skip."""
    return bool(config.getoption("--real")) or os.environ.get("KVGATE_REAL") == "1"


def _default_command(kind: Kind) -> str | None:
    """Our own router, the real decoder that our suites are written with or the fake engine, where no other is named."""
    if kind is Kind.DECODER:
        return wheel.PACKAGE
    if kind is Kind.ENGINE:
        return f"{shlex.quote(sys.executable)} -m fakes.engine_server"
    beside = Path(sys.executable).with_name("kvgate-router")
    return str(beside) if beside.exists() else shutil.which("kvgate-router")


_RUNS = pytest.StashKey[Runs]()


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Notes of scenarios, each once, whichever worker they came from."""
    reports = (report for reports in terminalreporter.stats.values() for report in reports)
    notes = dict.fromkeys(
        value for report in reports for name, value in getattr(report, "user_properties", ()) if name == _NOTE
    )
    for note in notes:
        terminalreporter.write_line(note)
