"""What can go wrong on the harness's side, by whose fault it is.

    HarnessError
    ├── UsageError          the person: a flag, a path, a command that is not there
    │   └── ScenarioError   the author of a scenario: file, line, key, near spelling
    ├── Unavailable         something optional is missing: why, and the command that provides it
    ├── ProcessDied         a process ended before it had done what it was started for
    └── DeadlineMissed      waited for what, how long, and the last lines of every process

A wrong answer of the build under test is none of these: that is a check's FAIL.
"""

from __future__ import annotations

from pathlib import Path


class HarnessError(Exception):
    """Anything here can be shown to a person as it is: one clear line first, evidence after it."""


class UsageError(HarnessError):
    """A person asked for something that cannot be done as asked. Exit status 2."""


class ScenarioError(UsageError):
    """A scenario file that cannot be run as it stands."""

    def __init__(self, file: Path | str, line: int, key: str, problem: str) -> None:
        self.file, self.line, self.key, self.problem = str(file), line, key, problem
        super().__init__(f"{file}:{line}: {key}: {problem}" if key else f"{file}:{line}: {problem}")


class Unavailable(HarnessError):
    """A model, a server or a tool that this machine does not have."""

    def __init__(self, reason: str, command: str = "") -> None:
        self.reason, self.command = reason, command
        super().__init__(f"{reason}; to provide it: {command}" if command else reason)


class ProcessDied(HarnessError):
    """A process ended too early. The message carries how it ended and what it said last."""


class DeadlineMissed(HarnessError):
    """Something did not happen in time."""

    def __init__(self, awaited: str, seconds: float, last_lines: str = "") -> None:
        self.awaited, self.seconds = awaited, seconds
        tail = f"\n{last_lines}" if last_lines else ""
        super().__init__(f"waited {seconds:g} s for {awaited}{tail}")
