"""`kvgate fake decoder|engine|provider ...`: becomes that fake, with its own flags, in this very process."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from harness.errors import UsageError
from harness.near import did_you_mean

FAKES = {"decoder": "fakes.decoder_server", "engine": "fakes.engine_server", "provider": "fakes.provider"}


def main(words: Sequence[str]) -> int:
    if not words or words[0] in ("-h", "--help"):
        print(f"usage: kvgate fake {'|'.join(FAKES)} [flags of that fake]\n")
        print("The decoder takes llama-server's flags; the engine lists its own with --help.")
        return 0 if words else 2
    if words[0] not in FAKES:
        raise UsageError(f"no such fake: {words[0]}{did_you_mean(words[0], FAKES)}")
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, "-m", FAKES[words[0]], *words[1:]])
