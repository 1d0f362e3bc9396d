"""What every check said of every build that was ever run here: one small SQLite file, and what of it is unsteady.

Kept by the build's fingerprint and the scenario's text, so that a check which says ok now and FAIL then has no change
to blame. A history that cannot be read or written spoils no run: it is said, and that is all.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from harness.result import CheckResult, RunResult, Status, Verdict

_WAIT_S = 5.0
_TABLE = """
CREATE TABLE IF NOT EXISTS outcomes (
    at TEXT NOT NULL, build TEXT NOT NULL, command TEXT NOT NULL, text TEXT NOT NULL,
    suite TEXT NOT NULL, scenario TEXT NOT NULL, name TEXT NOT NULL,
    status TEXT NOT NULL, detail TEXT NOT NULL, folder TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS by_check ON outcomes (build, text, suite, scenario, name);
"""
_COUNTED = """
SELECT suite, scenario, name, build, command, COUNT(*), SUM(status = 'FAIL'), MAX(CASE status WHEN 'FAIL' THEN at END),
    MAX(CASE status WHEN 'FAIL' THEN at || '|' || detail || '|' || folder END)
FROM outcomes WHERE status IN ('ok', 'FAIL') GROUP BY build, text, suite, scenario, name
"""


@dataclass(frozen=True, slots=True)
class Flake:
    """A check that said both on one build and one text of its scenario. `red_folder` is the last red run's."""

    suite: str
    scenario: str
    check: str
    build: str
    command: str
    runs: int
    red: int
    last_red: str
    detail: str
    red_folder: str


def default_file() -> Path:
    """`$KVGATE_HISTORY`, or a file in the cache folder."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("KVGATE_HISTORY") or Path(base) / "kvgate" / "history.sqlite")


class History:
    """The file at `path`, made when something is first kept. sqlite3.Error and OSError as they come."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def keep(self, result: RunResult, texts: Mapping[tuple[str, str], str]) -> None:
        """Every ok and FAIL of a run. `texts` are digests of the scenarios' files by suite and name."""
        builds = {
            build.name: (str(build.fingerprint.get("digest")), " ".join(build.command)) for build in result.builds
        }
        now = datetime.now(UTC).isoformat(timespec="seconds")
        rows = [
            (now, *builds[check.build], texts[check.suite, check.scenario], *_name(check), str(check.status),
             check.detail, result.folder)
            for check in result.checks
            if check.status in (Status.OK, Status.FAIL) and (check.suite, check.scenario) in texts
        ]  # fmt: skip
        with self._open() as database, database:
            database.executemany("INSERT INTO outcomes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)

    def flakes(self) -> list[Flake]:
        """Every check that is unsteady, the most often red first."""
        if not self.path.exists():
            return []
        with self._open() as database:
            found = [_flake(row) for row in database.execute(_COUNTED) if 0 < row[6] < row[5]]
        return sorted(found, key=lambda each: (-each.red / each.runs, each.suite, each.scenario, each.check))

    def forget(self) -> int:
        """Empties the history; how many outcomes it held."""
        if not self.path.exists():
            return 0
        with self._open() as database, database:
            return database.execute("DELETE FROM outcomes").rowcount

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(self.path, timeout=_WAIT_S)) as database:
            database.executescript(_TABLE)
            yield database


def _name(check: CheckResult) -> tuple[str, str, str]:
    return check.suite, check.scenario, check.check


def _flake(row: tuple[str, str, str, str, str, int, int, str, str]) -> Flake:
    suite, scenario, check, build, command, runs, red, last_red, last = row
    detail, _, folder = last.partition("|")[2].rpartition("|")
    return Flake(suite, scenario, check, build, command, runs, red, last_red, detail, folder)


def text_digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def keep_and_tell(history: History, result: RunResult, files: Mapping[tuple[str, str], Path]) -> tuple[str, ...]:
    """Keeps the run; one line for each of its checks that is unsteady on the very build that was run.

    So no rerun turns a FAIL into ok in silence. A tainted run is not kept: nobody knows which build answered.
    """
    if result.verdict is Verdict.TAINTED:
        return ()
    try:
        history.keep(result, {name: text_digest(file) for name, file in files.items()})
        flakes = history.flakes()
    except (sqlite3.Error, OSError) as error:
        return (f"the history of outcomes could not be kept in {history.path}: {error}",)
    return tuple(_told(each) for each in _of_this_run(flakes, result))


def _of_this_run(flakes: Sequence[Flake], result: RunResult) -> Iterator[Flake]:
    ran = {_name(check) for check in result.checks}
    digests = {str(build.fingerprint.get("digest")) for build in result.builds}
    return (each for each in flakes if each.build in digests and (each.suite, each.scenario, each.check) in ran)


def _told(flake: Flake) -> str:
    return (
        f"flaky on this same build: {flake.check} ({flake.suite} / {flake.scenario}) "
        f"was FAIL in {flake.red} of {flake.runs} runs, last at {flake.last_red}; see kvgate flakes"
    )
