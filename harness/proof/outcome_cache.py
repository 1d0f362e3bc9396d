"""Outcomes of mutants that are known already, by the fingerprint of everything that made them.

Kept are the answers of the checks, not their evidence. An ERROR is never kept: it says nothing about next time.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path

from harness.proof.run_folder import write_whole
from harness.result import CheckResult, ScenarioResult, Status


def default_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "kvgate" / "outcomes"


@dataclass(frozen=True, slots=True)
class OutcomeCache:
    """`ground` is the digest of what all outcomes depend on: the harness and the fakes."""

    folder: Path
    ground: str

    def key(self, build_digest: str, scenario_file: Path, played: str) -> str:
        """`played` says what is changed of the scenario: faults on top, a part replaced."""
        parts = (self.ground, build_digest, scenario_file.read_text("utf-8"), scenario_file.name, played)
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    def find(self, key: str, *, build: str) -> ScenarioResult | None:
        try:
            kept = json.loads((self.folder / f"{key}.json").read_text("utf-8"))
            suite, scenario = kept["suite"], kept["scenario"]
            checks = tuple(
                CheckResult(suite, scenario, check["check"], build, Status(check["status"]), check["detail"])
                for check in kept["checks"]
            )
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return ScenarioResult(suite, scenario, build, checks, tuple(kept["left_behind"]))

    def keep(self, key: str, result: ScenarioResult) -> None:
        if any(check.status is Status.ERROR for check in result.checks):
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        kept = {
            "suite": result.suite,
            "scenario": result.scenario,
            "left_behind": list(result.left_behind),
            "checks": [
                {"check": check.check, "status": str(check.status), "detail": check.detail} for check in result.checks
            ],
        }
        write_whole(self.folder / f"{key}.json", json.dumps(kept))
