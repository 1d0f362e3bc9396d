"""What can go wrong before a real server runs.

ServerError                something about a real server; its text is the line to show
├── ServerMissing          none by that name on this machine; `command` would provide it
└── ServerDied             it was started and ended before it was ready; the log is kept
"""

from __future__ import annotations

from pathlib import Path


class ServerError(Exception):
    """Something is wrong with a real server; the text is one line."""


class ServerMissing(ServerError):
    """No such server here. `reason` says why, `command` would provide it."""

    def __init__(self, reason: str, command: str) -> None:
        super().__init__(f"{reason}; to have it: {command}")
        self.reason = reason
        self.command = command


class ServerDied(ServerError):
    """The server ended, or fell silent, before it was ready."""

    def __init__(self, reason: str, log: Path) -> None:
        super().__init__(f"{reason}; its log: {log}")
        self.reason = reason
        self.log = log
