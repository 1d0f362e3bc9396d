"""Every fault of an engine, alone and in pairs, before the router: no wrong answer, no hang, nothing left reserved.

The cases run side by side on a few sets of two engines and a router each, since most of them do nothing but wait for
a deadline. What a case found is judged by the test of its name.
"""

import http.client
import json
import queue
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field

import pytest

from gates.engines import EngineProcess
from gates.hydra_bench import FLAGS, Bench, chat

pytestmark = pytest.mark.xdist_group("hydra_faults")
N_BENCHES = 5
BOUND_S = 11.0
"""The router's own deadline for a request, and a second."""


@dataclass(frozen=True)
class Case:
    """Faults by the engine that plays them. `protocol` names them as the protocol's text does."""

    protocol: str
    faults: dict
    may_fail: bool = False
    """The reply may be an error, in so many words, where there can be no other."""
    ends: bool = False
    """An engine has ended, or keeps what the next case must not meet."""
    distrusted: bool = False
    """The router has found out for a while what an engine cannot do."""
    keeps_slot: bool = False
    """The slot rightly stays out of use."""
    stream: bool = False

    @property
    def name(self):
        played = "+".join(f"{side}:{fault}" for side, faults in self.faults.items() for fault in faults)
        return f"{self.protocol} {played}{' streamed' if self.stream else ''}"


@dataclass
class Found:
    reply: object
    expected: str
    left: list
    executions: dict
    evaluated: int
    n_prompt: int
    next_text: str | None = None
    next_expected: str | None = None
    restores: list = field(default_factory=list)
    log: list = field(default_factory=list)


def on(side, protocol, *faults, **settings):
    return [Case(protocol, {side: (fault,)}, **settings) for fault in faults]


def both(protocol, *faults, **settings):
    return on("prefill", protocol, *faults, **settings) + on("decode", protocol, *faults, **settings)


def twice(cases):
    """Streamed as well."""
    return [*cases, *(Case(**{**vars(case), "stream": True}) for case in cases)]


ALONE = [
    *both("F01", "engine-refuse-connect"),
    *both("F02", "engine-accept-silence"),
    *both("F03", "engine-pool-exhausted=wait", "engine-pool-exhausted=close"),
    *both("F04", "engine-idle-close=1"),
    *both("F05", "engine-close-before-answer"),
    *both("F06", "engine-close-in-header"),
    *on("decode", "F05", "engine-close-before-answer,op=DECODE", "engine-close-before-answer,op=STATE_META"),
    *on("decode", "F06", "engine-close-in-header,op=DECODE"),
    *on("decode", "F07", "engine-truncated-meta,op=DECODE"),
    *on("decode", "F11", "engine-overlong-answer,op=DECODE"),
    *on("decode", "F13", "engine-undrained-payload,op=DECODE"),
    *on("decode", "F15", "engine-meta-not-json,op=DECODE", distrusted=True),
    *on("decode", "F17", "engine-meta-huge,op=DECODE"),
    *on("decode", "F19", "engine-unknown-status,op=DECODE"),
    *both("F07", "engine-truncated-meta"),
    *on("prefill", "F08", "engine-truncated-payload", "engine-truncated-payload,first=1"),
    *on("prefill", "F09", "engine-stall-payload", "engine-stall-payload,first=1"),
    *both("F10", "engine-drip"),
    *both("F11", "engine-overlong-answer"),
    Case("F12", {"prefill": ("engine-unframed-error-text", "engine-close-before-answer,op=PREFILL")}),
    *both("F13", "engine-undrained-payload"),
    *both("F14", "engine-wrong-magic-close"),
    *both("F15", "engine-meta-not-json", distrusted=True),
    *both("F16", "engine-meta-missing-fields", distrusted=True),
    *both("F17", "engine-meta-huge"),
    *both("F18", "engine-payload-len-huge=5GiB", "engine-payload-len-huge=8EiB"),
    *both("F19", "engine-unknown-status"),
    *on("decode", "F20", "engine-busy,first=1", "engine-busy,first=2"),
    Case("F20", {"prefill": ("engine-busy,first=1", "engine-close-before-answer,op=PREFILL")}),
    Case("F21", {"decode": ("engine-busy", "engine-op-unknown,op=INFO")}, distrusted=True),
    Case("F21", {"prefill": ("engine-busy", "engine-close-before-answer,op=PREFILL")}),
    *on("prefill", "F22", "engine-busy-as-error", "engine-busy-as-error,first=1"),
    *on("decode", "F23", "engine-busy-as-cap-mismatch", "engine-busy-as-cap-mismatch,first=1"),
    *both("F24", "engine-not-found-slot"),
    *both("F25", "engine-op-unknown", distrusted=True),
    *on("prefill", "F26", "engine-not-implemented", distrusted=True),
    *on("decode", "F27", "engine-info-lies", distrusted=True),
    *twice(on("decode", "F28", "engine-tokens-not-restored")),
    *twice(on("decode", "F29", "engine-frozen-slot")),
    *on("decode", "F30", "engine-raw-kv-accepted"),
    *on("decode", "F31", "engine-kv-left-on-wire"),
    *on("decode", "F32", "engine-restore-error-late"),
    *on("decode", "F33", "engine-hash-mismatch", "engine-hash-mismatch-early,first=1", "engine-hash-mismatch-early"),
    *on("decode", "F34", "engine-n-past-after-restore"),
    *on("decode", "F35", "engine-not-ready-404,first=3"),
    *on("decode", "F36", "engine-stuck-loading"),
    *on("decode", "F37", "engine-empty-done-stream", stream=True, may_fail=True),
    *on("decode", "F38", "engine-single-delta-no-done", stream=True),
    *on("decode", "F39", "engine-stream-cut", "engine-stream-stall", stream=True, may_fail=True),
    *on("decode", "F40", "engine-stream-no-end"),
    *on("decode", "F41", "engine-frame-split"),
    *on("decode", "F42", "engine-frame-bad=size", "engine-frame-bad=no-final", "engine-frame-bad=two-final"),
    *on("decode", "F43", "engine-gate-a-reject"),
    *on("decode", "F44", "engine-gate-b-reject"),
    *on("prefill", "F45", "engine-model-fallback"),
    *both("F46", "engine-identity-flips"),
    *both("F47", "engine-identity-absent"),
    *on(
        "prefill",
        "F48",
        *(f"engine-blob-bad={how}" for how in ("truncated", "ntok-lie", "tgt-overflow", "bad-flags", "v1-as-v2")),
        "engine-blob-bad=lone-flag",
    ),
    *on("prefill", "F49", "engine-blob-zero"),
    *on("prefill", "F50", "engine-npast-ntok-differ=1", "engine-npast-ntok-differ=-1"),
    *on("prefill", "F51", "engine-logits-wrong=absent", "engine-logits-wrong=wrong-size"),
    *on("prefill", "F52", "engine-checkpoint-missing"),
    *on("prefill", "F53", "engine-checkpoint-mislabelled"),
    *on("decode", "F54", "engine-meta-after-put-zero"),
    *both("F55", "engine-over-reserved"),
    *on("decode", "F56", "engine-poison-then-crash"),
    *on("prefill", "F57", "engine-die-in-prefill", "engine-die-and-return-empty", ends=True),
    Case("F57", {"prefill": ("engine-die-in-get", "engine-close-before-answer,op=PREFILL")}, ends=True),
    *twice(on("decode", "F57", "engine-die-in-decode", ends=True, may_fail=True)),
    *on("decode", "F57", "engine-die-and-return-empty", ends=True, may_fail=True),
    *both("F58", "engine-slots-empty-list"),
    *both("F59", "engine-slot-stuck"),
    *on("prefill", "F60", "engine-slow-prefill=300", "engine-slow-prefill=60000"),
    *both("F61", "engine-slow-health=300"),
    *both("F62", "engine-close-after-execution"),
    *on("decode", "F63", "engine-transferring-forever", ends=True, keeps_slot=True),
    *on("prefill", "F64", "engine-wrong-prefix"),
    Case("F65", {"decode": ("engine-cancel-ignored", "engine-frozen-slot,first=1")}),
]
PAIRS = [
    Case("F20+F08", {"decode": ("engine-busy,first=1",), "prefill": ("engine-truncated-payload,first=1",)}),
    Case(
        "F39+F57",
        {"decode": ("engine-stream-cut", "engine-die-in-decode,only=4")},
        stream=True,
        may_fail=True,
        ends=True,
    ),
    Case("F28+F60", {"decode": ("engine-tokens-not-restored",), "prefill": ("engine-slow-prefill=300",)}),
]
CASES = [*ALONE, *PAIRS]


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What each case found, by its name."""
    with EngineProcess(tmp_path_factory.mktemp("plain"), FLAGS) as plain:
        waiting, results, errors = queue.SimpleQueue(), {}, []
        # Those that take long go first, so that none of them is waited for alone.
        for number, case in sorted(enumerate(CASES), key=lambda each: not each[1].ends):
            waiting.put((number, case))
        workers = [threading.Thread(target=_work, args=(plain, waiting, results, errors)) for _ in range(N_BENCHES)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert not errors, errors
        yield results


def _work(plain, waiting, results, errors):
    try:
        with Bench() as bench:
            while True:
                try:
                    number, case = waiting.get_nowait()
                except queue.Empty:
                    return
                try:
                    results[case.name] = _play(bench, plain, case, number)
                except (OSError, AssertionError, ValueError, http.client.HTTPException) as error:
                    results[case.name] = error
                    bench.renew()
                if case.ends:
                    bench.renew()
                elif case.distrusted:
                    bench.renew_router()
    except (OSError, AssertionError) as error:
        errors.append(repr(error))


def _prompt(number, turn):
    return f"case {number} turn {turn}: tell me what the weather was like on the other side of the hills that day"


def _play(bench, plain, case, number):
    asked, after = _prompt(number, 1), _prompt(number, 2)
    n_lines, n_restores = len(bench.router.lines), len(bench.decode.journal("restore"))
    started, before = time.monotonic(), bench.evaluated()
    bench.play(case.faults)
    reply = bench.router.chat(asked, stream=case.stream)
    evaluated = sum(bench.evaluated().values()) - sum(before.values()) if len(bench.alive()) == 2 else 0
    expected = json.loads(chat(plain.port, asked, cache_prompt=False).raw)
    bench.clear()
    left = bench.left() if not case.keeps_slot else []
    took_s = time.monotonic() - started
    outcome = Found(
        reply,
        expected["choices"][0]["message"]["content"],
        left,
        bench.executions(reply.trace),
        evaluated,
        expected["usage"]["prompt_tokens"],
        restores=[entry for entry in bench.decode.journal("restore")[n_restores:] if entry["ok"]],
        log=[*bench.router.lines[n_lines:], f"in all {took_s:.2f} s"],
    )
    if len(bench.alive()) == 2:
        outcome.next_text = bench.router.chat(after).text
        outcome.next_expected = chat(plain.port, after, cache_prompt=False).text
    return outcome


def _of(found, case):
    seen = found[case.name]
    if isinstance(seen, Exception):
        raise seen
    return seen


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_answer_is_right_in_time_and_nothing_is_left(found, case):
    seen = _of(found, case)
    reply, told = seen.reply, "\n".join(seen.log)
    if reply.text is None and case.may_fail:
        assert reply.status >= 400 or b'{"error"' in reply.raw, told
        assert b"[DONE]" not in reply.raw
    else:
        assert (reply.status, reply.text) == (200, seen.expected), told
    assert reply.took_s < BOUND_S, told
    assert seen.left == []
    assert seen.next_text == seen.next_expected, told


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_nothing_is_done_twice_and_nothing_raw_is_sent(found, case):
    seen = _of(found, case)
    told = "\n".join(seen.log)
    (own,) = [line for line in seen.log if seen.reply.trace in line]
    again = 2 if "hash-mismatch" in case.name else 1
    assert all(n <= (again if op == "DECODE" else 1) for (_, op), n in seen.executions.items()), (seen.executions, told)
    # A DECODE that was cancelled may have begun to evaluate the prompt.
    if seen.reply.route == "engine" and seen.reply.reason != "decode-malformed" and "again=0" in own:
        assert seen.evaluated <= seen.n_prompt + 2, told
    if "raw-kv" not in case.name:
        assert {entry["form"] for entry in seen.restores} <= {"v2", "v3"}


def test_every_fault_of_an_engine_is_played():
    said = subprocess.run([sys.executable, "-m", "fakes.faults", "--json"], capture_output=True, check=True).stdout
    known = {fault["name"] for fault in json.loads(said) if fault["player"] == "engine"}
    played = {fault.split("=")[0].split(",")[0] for case in CASES for each in case.faults.values() for fault in each}
    assert played == known
    assert {case.protocol for case in ALONE} == {f"F{number:02}" for number in range(1, 66)}
