"""Which scenarios a person means: files, folders, or the names of suites that come with kvgate."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import harness
from harness.errors import UsageError
from harness.near import did_you_mean
from harness.scenario import Scenario
from harness.scenario_file import find


def scenarios_folder() -> Path:
    """`scenarios` in the current folder, else the one that comes with this kvgate."""
    here = Path("scenarios")
    return here if here.is_dir() else Path(harness.__file__).parent.parent / "scenarios"


def select(words: Sequence[str]) -> tuple[Scenario, ...]:
    """What `words` name; all there are without any. UsageError for a word that names nothing."""
    return find(paths(words))


def paths(words: Sequence[str]) -> list[Path]:
    """The files and folders that `words` name; the folder of all suites without any."""
    return [_path(word) for word in words] or [scenarios_folder()]


def _path(word: str) -> Path:
    path = Path(word)
    if path.exists():
        return path
    folder = scenarios_folder()
    named = [folder / word, folder / f"{word}.yaml"]
    found = next((each for each in named if each.exists()), None)
    if found is None:
        suites = sorted(each.name for each in folder.iterdir() if each.is_dir()) if folder.is_dir() else []
        raise UsageError(f"{word}: no such scenario file, folder or suite{did_you_mean(path.name, suites)}")
    return found
