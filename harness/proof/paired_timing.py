"""How long two builds took for the same jobs, as a ratio with an interval. Shown, never judged.

Pairs share scenario and repeat, and ratios are averaged as logarithms, since twice as long and half as long
are equally far from even. The interval is Student's, at 95%.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable

from harness.proof.verdict import NEW, OLD
from harness.result import PairedTiming, ScenarioResult, Status

# Two-sided 95% quantiles of Student's t for 1, 2, ... degrees of freedom; beyond the table the normal one.
_STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
_STUDENT_FROM = {15: 2.131, 20: 2.086, 30: 2.042, 60: 2.0}
_NORMAL = 1.96


def paired_timing(results: Iterable[ScenarioResult]) -> PairedTiming | None:
    """The ratio new/old of scenario times over all pairs that both were observed; None without any."""
    times: dict[tuple[str, str, int], dict[str, float]] = {}
    for result in results:
        if result.status in (Status.OK, Status.FAIL) and result.duration_s > 0:
            times.setdefault((result.suite, result.scenario, result.repeat), {})[result.build] = result.duration_s
    pairs = [pair for pair in times.values() if OLD in pair and NEW in pair]
    return ratio_of([(pair[OLD], pair[NEW]) for pair in pairs]) if pairs else None


def ratio_of(pairs: list[tuple[float, float]], what: str = "scenario time") -> PairedTiming:
    logs = [math.log(new / old) for old, new in pairs]
    middle = statistics.fmean(logs)
    if len(logs) < 2:
        return PairedTiming(what, len(logs), math.exp(middle))
    half = _quantile(len(logs) - 1) * statistics.stdev(logs) / math.sqrt(len(logs))
    return PairedTiming(what, len(logs), math.exp(middle), math.exp(middle - half), math.exp(middle + half))


def _quantile(freedom: int) -> float:
    if freedom <= len(_STUDENT):
        return _STUDENT[freedom - 1]
    below = [value for at, value in _STUDENT_FROM.items() if at <= freedom]
    return below[-1] if freedom < 120 and below else _STUDENT[-1] if freedom < 15 else _NORMAL
