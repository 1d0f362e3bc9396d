"""Results laid down by hand for the report tests: a run with every status, a comparison with every verdict."""

from harness.result import (
    BuildInfo,
    CheckResult,
    CheckVerdict,
    Comparison,
    PairedTiming,
    RunResult,
    ScenarioResult,
    Status,
    Tally,
    TimelineEvent,
    Verdict,
)

SUITE, SCENARIO = "hybrid_kvshare_route", "a decoder that cannot share its KV gets the state-file route"
HOSTILE = 'log said "\x1b[31m<script>alert(1)</script>\u202e\x00" & | `tick`\nsecond line'


def check(name: str, status: Status, detail: str = "seen", *, build: str = "router", where: str = "") -> CheckResult:
    return CheckResult(SUITE, SCENARIO, name, build, status, detail, where)


def timeline() -> tuple[TimelineEvent, ...]:
    ms = 1_000_000
    return (
        TimelineEvent("client", 10 * ms, "request", 130 * ms, "POST /v1/chat/completions"),
        TimelineEvent("router", 12 * ms, "hybrid: share answered 400"),
        TimelineEvent("decoder", 11 * ms, "share refused", 12 * ms),
        TimelineEvent("provider", 20 * ms, "prefill 30 tokens", 60 * ms),
        TimelineEvent("decoder", 62 * ms, "restore 30", 64 * ms),
        TimelineEvent("decoder", 65 * ms, "completion", 129 * ms, "slot 0, prompt_n 1"),
    )


def run(*, partial: bool = False) -> RunResult:
    checks = (
        check("the request was pinned to slot 0", Status.OK),
        check("the fallback to the state file is named", Status.FAIL, HOSTILE, where="router.log:3"),
        check("the decoder was not left to prefill the prompt itself", Status.ERROR, "the journal has no end record"),
        check("a real decoder answers the same", Status.SKIP, "no llama-server found"),
    )
    scenario = ScenarioResult(
        SUITE,
        SCENARIO,
        "router",
        checks,
        left_behind=("socket /tmp/x/s",),
        duration_s=0.42,
        folder="router/hybrid_kvshare_route/refused",
        rerun="kvgate run scenarios/hybrid_kvshare_route/refused.yaml --router kvgate-router",
        timeline=timeline(),
        notes=("hybrid_e2e: prompt_n 1, plain 22",),
    )
    build = BuildInfo("router", ("kvgate-router",), {"digest": "ab" * 32, "trees": [], "version": "0.1.0"})
    return RunResult(
        "run",
        Verdict.FAILED,
        (build,),
        (scenario,),
        started_at="2026-01-02T03:04:05+00:00",
        duration_s=0.5,
        folder="/tmp/kvgate/run-1",
        partial=partial,
    )


def comparison() -> RunResult:
    rows = {
        "the request was pinned to slot 0": (Status.FAIL, Status.OK, CheckVerdict.FIXED),
        "the refusal itself is named": (Status.OK, Status.OK, CheckVerdict.GREEN_ON_BOTH),
        "the request is answered after a refused share": (Status.OK, Status.FAIL, CheckVerdict.BROKEN),
        "the first token comes within its bound": (Status.FAIL, Status.FAIL, CheckVerdict.RED_ON_BOTH),
        "the provider ran once": (Status.ERROR, Status.OK, CheckVerdict.ERROR),
    }
    compared = [
        Comparison(SUITE, SCENARIO, name, verdict, {"old": Tally.of([old]), "new": Tally.of([new])})
        for name, (old, new, verdict) in rows.items()
    ]
    flaky = {"old": Tally(ok=1, fail=2), "new": Tally(ok=3)}
    compared.append(Comparison(SUITE, SCENARIO, "30 cells are adopted", CheckVerdict.UNSTABLE, flaky))
    scenarios = tuple(
        ScenarioResult(
            SUITE,
            SCENARIO,
            build,
            tuple(check(name, row[side], f"seen on {build}", build=build) for name, row in rows.items()),
            duration_s=0.3,
            timeline=timeline(),
        )
        for side, build in enumerate(("old", "new"))
    )
    old = ("python", "-m", "gates.mutants.before_fix")
    return RunResult(
        "ab",
        Verdict.REGRESSION,
        (BuildInfo("old", old, {"digest": "0123456789abcdef"}), BuildInfo("new", ("kvgate-router",), {})),
        scenarios,
        notes=("order shuffled with seed 7",),
        started_at="2026-01-02T03:04:05+00:00",
        duration_s=1.5,
        comparisons=tuple(compared),
        timings=(PairedTiming("scenario time", 8, 1.25, 1.1, 1.42),),
        warnings=("/src/tree has 1 changed file(s) on top of 0123456789",),
    )
