"""What can go wrong before a real server runs.

UnknownServer     no such name; names near ones (a UsageError)
ServerMissing     none by that name on this machine; `command` would provide it (an Unavailable)
ServerDied        it was started and ended, or said nothing, before it was ready; its log is kept (a ProcessDied)
"""

from __future__ import annotations

from harness.errors import ProcessDied, Unavailable, UsageError


class UnknownServer(UsageError):
    """No server has this name, and it is no path or command either."""


class ServerMissing(Unavailable):
    """No such server here."""


class ServerDied(ProcessDied):
    """The server ended, or fell silent, before it was ready."""
