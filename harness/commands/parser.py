"""The parser of every command: what is wrong is one line, with what is near."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import NoReturn

from harness.errors import UsageError
from harness.near import did_you_mean


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, and names near spellings."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog=prog, allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter)

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see {self.prog} --help)")

    def checked(self, words: Sequence[str]) -> argparse.Namespace:
        """The arguments; an unknown one is named together with what is near."""
        arguments, unknown = self.parse_known_args(words)
        if unknown:
            known = [option for action in self._actions for option in action.option_strings]
            word = next((each for each in unknown if each.startswith("-")), unknown[0])
            near = did_you_mean(word.split("=")[0], known) if word.startswith("-") else ""
            raise UsageError(f"unknown argument {word}{near if 'mean' in near else ''} (see {self.prog} --help)")
        return arguments
