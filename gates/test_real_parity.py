"""Parity triage on real servers: two builds agree on floats, and KV of another prompt is told from rounding.

The planted loss is a slot file with this prompt's tokens in front and another prompt's rows behind: the server takes
it as good, and only the reply shows it.
"""

import asyncio
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import aiohttp
import pytest

from harness.errors import Unavailable
from harness.models import provide, zoo
from harness.models.gguf_head import read_head
from harness.processes import Guardian
from harness.proof.parity.compare import EXACT, SLOTS, Job, compare
from harness.proof.parity.observe import Decoder
from harness.proof.parity.triage import Reading, noise_floor, triage
from harness.real import find_server
from harness.real.start import start
from wire.statefile import decode_statefile, encode_statefile

pytestmark = pytest.mark.real

OLD, NEW = "xllamacpp==2026.9.11063", "xllamacpp==2026.10.11549"
FEW_THREADS = ("-t", "1")
PROMPT_TOKENS, REPLY_TOKENS = 60, 24


def have(getting: Callable[[], Any]) -> Any:
    try:
        return getting()
    except Unavailable as missing:
        if os.environ.get("KVGATE_REAL"):
            raise
        pytest.skip(str(missing))


@pytest.mark.parametrize("name", zoo.ARCHITECTURES)
def test_two_builds_say_the_same_on_floats(name: str, tmp_path: Path) -> None:
    model = have(lambda: provide(name))
    servers = (have(lambda: find_server(OLD)), have(lambda: find_server(NEW)))
    prompts = tuple(tuple(Random(i).choices(range(300, 4000), k=40)) for i in range(3))
    found = compare(Job(servers, model, read_head(model), prompts, 48, FEW_THREADS, tmp_path))
    assert found.reading in (Reading.SAME, Reading.NEAR_TIE), [each.finding for each in found.compared]
    assert sum(each.finding.positions for each in found.compared) >= 3 * 24


@pytest.mark.parametrize("name", ["tiny-qwen3", "tiny-gemma3", "tiny-mamba2", "tiny-falcon-h1", "smollm2-135m"])
def test_another_prompts_rows_are_different(name: str, tmp_path: Path) -> None:
    model = have(lambda: provide(name))
    server = have(lambda: find_server(NEW))
    found = asyncio.run(_with_foreign_rows(server, model, tmp_path))
    assert found["restored"] is Reading.SAME
    assert found["foreign"] is Reading.DIFFERENT


async def _with_foreign_rows(server: Any, model: Path, folder: Path) -> dict[str, Reading]:
    """The prompt goes on after the saved tokens, so that every kind of memory reuses them."""
    head = read_head(model)
    flags = ("-m", str(model), "--port", "0", "-c", "2048", *SLOTS, *FEW_THREADS, "--slot-save-path", str(folder))
    guardian = Guardian()
    guardian.listen()
    try:
        started = await start(guardian, server, (*flags, *(() if head.quantised else EXACT)), folder=folder)
        async with aiohttp.ClientSession() as http:
            decoder = Decoder(http, started.url)
            found = await _compared(decoder, folder, head.quantised)
        await started.process.dismiss()
        return found
    finally:
        guardian.close()


async def _compared(decoder: Decoder, folder: Path, quantised: bool) -> dict[str, Reading]:
    prompt, other = (Random(seed).choices(range(300, 4000), k=PROMPT_TOKENS) for seed in (1, 2))
    longer = [*prompt, *Random(3).choices(range(300, 4000), k=4)]
    cold = await decoder.both(longer, REPLY_TOKENS)
    for name, tokens in (("own", prompt), ("other", other)):
        await decoder.trace(tokens, 1, reuse=False)
        await decoder.slot("save", folder / name)
    own, foreign = (decode_statefile((folder / name).read_bytes()) for name in ("own", "other"))
    (folder / "foreign").write_bytes(encode_statefile(replace(own, state=foreign.state)))
    found = {}
    for reading, name in (("restored", "own"), ("foreign", "foreign")):
        await decoder.slot("restore", folder / name, slot=1)
        warm = await decoder.trace(longer, REPLY_TOKENS, reuse=True, slot=1)
        assert warm.cache_n > 0, f"{reading}: nothing was reused, so nothing is shown"
        floor = noise_floor([(cold.cold, cold.warm)])
        found[reading] = triage(cold.cold, warm, floor=floor, quantised=quantised).reading
    return found
