"""State of a real model's size through the router: `python -m gates.large_state --mib 1024`.

It comes from one fake engine and goes to another, once by STATE_PUT and once by DECODE, made and thrown away chunk by
chunk on both ends. What must hold: both ends have seen the same bytes, the router's memory has not grown with them,
and the reply is the one of a prompt that was handed over. Sizes are told, times are not judged.
"""

from __future__ import annotations

import argparse
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from gates.hydra_bench import Bench, chat

MIB = 1024 * 1024
MOST_GROWTH = 48 * MIB
"""What the router may take more than before: buffers on both sides, whatever the state's size."""
PATIENT = {"provider": "300", "restore": "300", "stream": "120", "first-byte": "300", "request": "900"}
PATIENCE_S = 900.0
PROMPT = "tell me what the weather was like on the other side of the hills on the day when all of it was moved"


@dataclass(frozen=True)
class Passed:
    """`sent` and `received` are digests of the same bytes on both ends; `grown` is the router's peak, in bytes."""

    n_bytes: int
    sent: str
    received: str
    grown: int
    op: str
    reply: str
    expected: str
    evaluated: int


def pass_state(mib: int, *, merged: bool) -> Passed:
    """One prompt over two engines and the router, with state of so many MiB."""
    padded = ("--state-padding", str(mib * MIB))
    kept = () if merged else ("--decode-generation", "text")
    with Bench(padded, kept, timeouts=PATIENT) as bench:
        bench.router.chat("a prompt that warms the router up and is not handed over", max_tokens=1, cache_prompt=False)
        before = _peak_bytes(bench.router.process.pid)
        reply = bench.router.chat(PROMPT, seconds=PATIENCE_S)
        grown = _peak_bytes(bench.router.process.pid) - before
        assert reply.route == "engine", bench.router.hybrid
        (restore,) = bench.decode.journal("restore")
        (served,) = [entry for entry in bench.decode.journal("completion") if entry["cache_n"]]
        sent, received = _digests(bench, merged=merged)
        expected = chat(bench.decode.port, PROMPT, cache_prompt=False).text
        return Passed(
            restore["kv_bytes"], sent, received, grown, restore["op"], reply.text, expected, served["prompt_n"]
        )


def _digests(bench: Bench, *, merged: bool) -> tuple[str, str]:
    """Of what PREFILL sent and of what came in; a DECODE has words of its own before the state, so that each end's
    hash of the state alone is taken there."""
    if merged:
        (prefill,), (reserved,) = bench.prefill.journal("prefill"), bench.decode.journal("reserved")
        return prefill["kv_hash"], reserved["kv_hash"]
    (answer,) = [entry for entry in bench.prefill.journal("rpc") if entry["op"] == "PREFILL"]
    (put,) = [entry for entry in bench.decode.journal("rpc") if entry["op"] == "STATE_PUT"]
    return answer["answer_sha256"], put["payload_sha256"]


def _peak_bytes(pid: int) -> int:
    found = re.search(r"^VmHWM:\s+(\d+) kB$", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    assert found, "no VmHWM"
    return int(found[1]) * 1024


def findings(passed: Passed, mib: int) -> list[str]:
    """What does not hold; empty is good."""
    wrong = []
    if passed.n_bytes < mib * MIB:
        wrong.append(f"{passed.n_bytes} bytes of KV were restored, expected {mib * MIB} and more")
    if passed.sent != passed.received:
        wrong.append(f"{passed.sent} was sent, {passed.received} came in")
    if passed.grown > MOST_GROWTH:
        wrong.append(
            f"the router's peak grew by {passed.grown / MIB:.0f} MiB, at most {MOST_GROWTH / MIB:.0f} are meant"
        )
    if passed.evaluated != 1:
        wrong.append(f"{passed.evaluated} prompt tokens were evaluated after the handoff, expected 1")
    if not passed.reply or passed.reply != passed.expected:
        wrong.append(f"the reply is {passed.reply!r}, the plain run's {passed.expected!r}")
    return wrong


def main(argv: list[str] | None = None) -> int:
    """0 where everything held both ways, else 1."""
    parser = argparse.ArgumentParser(prog="python -m gates.large_state", description=__doc__)
    parser.add_argument("--mib", type=int, default=1024, help="size of the state (%(default)s)")
    mib, wrong = parser.parse_args(argv).mib, []
    for merged in (False, True):
        passed = pass_state(mib, merged=merged)
        print(
            f"{passed.op}: {passed.n_bytes} bytes, {passed.received}, router +{passed.grown / MIB:.1f} MiB", flush=True
        )
        wrong += [f"{passed.op}: {each}" for each in findings(passed, mib)]
    for each in wrong:
        print(each, file=sys.stderr)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
