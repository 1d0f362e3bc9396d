"""What differs from one build of llama-server to another, as far as it was measured: `--fake-version`.

A build between two of these behaves as the older of them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Build:
    """`closes_late`: the close behind an error comes only after the keep-alive time. `loses_pipelined`: of requests
    that come at once the first alone is answered. `stream_closes`: a finished stream ends its connection, unannounced.
    `types_vocab`: which kind of vocabulary a model has is a number; before, whether it has one.
    """

    state_version: int = 4
    stream_closes: bool = True
    closes_late: bool = False
    loses_pipelined: bool = False
    says_modalities: bool = True
    types_vocab: bool = True


BUILDS = {
    10566: Build(2, closes_late=True, loses_pipelined=True, says_modalities=False, types_vocab=False),
    11063: Build(3, closes_late=True, loses_pipelined=True, says_modalities=False, types_vocab=False),
    11434: Build(stream_closes=False),
    11549: Build(),
}
"""Of 10566 the state version alone was seen; the rest is taken from the next."""


def build_of(version: str) -> Build:
    """The build that `b<number>` names. ValueError: it names none, or one that is older than all that is known."""
    if re.fullmatch(r"b\d{1,9}", version) is None or int(version[1:]) < min(BUILDS):
        raise ValueError(f"expected b and a number from {min(BUILDS)} on, such as b11434, not {version!r}")
    return BUILDS[max(number for number in BUILDS if number <= int(version[1:]))]
