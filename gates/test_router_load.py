"""The router under load: a tenth of `make load`, and the judge of a campaign on planted evidence."""

import asyncio
import copy
from dataclasses import replace

import pytest

from gates.load.campaign import campaign
from gates.load.clients import Outcome, Seen
from gates.load.evidence import Evidence, read_metrics
from gates.load.judge import GAUGES, JUDGES, judge
from gates.load.options import Options
from gates.load.work import Work
from harness.record import Reply, Timings


def test_a_tenth_of_the_load_campaign(tmp_path):
    options = Options(requests=2_000, kill_every_s=2.5)
    evidence = asyncio.run(campaign(options, tmp_path))
    assert [str(finding) for finding in judge(evidence) if not finding.holds] == []
    assert evidence.kills >= 2
    assert sum(one.outcome is Outcome.LEFT for one in evidence.seen) >= 5


OPTIONS = Options(requests=3, clients=1, decoders=2, slots=2)
ROUTES = ("plain", "shared", "state-file")
HANDED = (0, 70, 70)


def good():
    """Three requests on two decoders: one plain, one on each route of a handoff."""
    seen, log, entries = [], [], {"a.jsonl": [], "b.jsonl": []}
    for index, (route, handed) in enumerate(zip(ROUTES, HANDED, strict=True)):
        work = Work(index, "/v1/completions", {}, handed > 0, None)
        reply = Reply(Timings(0), 200, {"x-request-id": f"r{index}"}, text=f"reply {index}")
        seen.append(Seen(work, Outcome.SERVED, reply, f"reply {index}"))
        log.append({"request_id": f"r{index}", "outcome": "served", "route": route, "handed": handed, "level": "info",
                    "cached": max(0, handed - 1), "reason": "a reason", "message": f"line {index}"})  # fmt: skip
        journal = entries["b.jsonl" if route == "state-file" else "a.jsonl"]
        if route == "shared":
            journal.append({"event": "adopt", "slot": 1, "status": 200, "n_adopted": handed})
        if route == "state-file":
            journal.append({"event": "restore", "slot": 1, "status": 200, "n_restored": handed})
        journal.append({"event": "completion", "id_slot": 1, "served_slot": 1, "status": 200, "cancelled": False,
                        "cache_n": max(0, handed - 1)})  # fmt: skip
    metrics = dict.fromkeys(GAUGES, 0.0) | {
        'kvgate_requests_total{outcome="served",route="plain"}': 3.0,
        'kvgate_decoder_ready{decoder="a"}': 1.0,
        'kvgate_decoder_ready{decoder="b"}': 1.0,
        "kvgate_slots_free": 4.0,
    }
    return Evidence(OPTIONS, seen, log, metrics, entries, 0, {1: 1000, 3: 1000}, [], 0)


def test_good_evidence_is_found_good():
    assert [str(finding) for finding in judge(good()) if not finding.holds] == []


def request_lost(e):
    return replace(e, seen=e.seen[:2], log=e.log[:2])


def request_ended_twice(e):
    return replace(e, log=[*e.log, e.log[0]])


def request_counted_twice(e):
    return replace(e, metrics={**e.metrics, 'kvgate_requests_total{outcome="served",route="plain"}': 4.0})


def request_not_logged(e):
    return replace(e, log=[{**e.log[0], "request_id": "somebody"}, *e.log[1:]])


def failure_called_served(e):
    return replace(e, seen=[replace(e.seen[0], outcome=Outcome.BROKEN), *e.seen[1:]], kills=1)


def reply_of_another(e):
    reply = replace(e.seen[0].reply, text="reply 1")
    return replace(e, seen=[replace(e.seen[0], reply=reply), *e.seen[1:]])


def replies_all_alike(e):
    alike = [replace(one, expected="same", reply=replace(one.reply, text="same")) for one in e.seen]
    return replace(e, seen=alike)


def failed_without_a_death(e):
    e.log[0]["outcome"] = "broken"
    return replace(e, seen=[replace(e.seen[0], outcome=Outcome.BROKEN), *e.seen[1:]])


def long_prompt_served_plain(e):
    e.log[1]["route"] = "plain"
    return e


def handoff_unused(e):
    e.log[2]["cached"] = 0
    return e


def another_prompt_in_the_slot(e):
    e.journals["a.jsonl"][-1]["cache_n"] = 0
    return e


def unpinned(e):
    e.journals["b.jsonl"][-1]["id_slot"] = None
    return e


def lease_kept(e):
    return replace(e, metrics={**e.metrics, "kvgate_slots_leased": 1.0})


def decoder_lost(e):
    return replace(e, metrics={**e.metrics, 'kvgate_decoder_ready{decoder="b"}': 0.0})


def memory_grown(e):
    return replace(e, memory={1: 1000, 3: 1060})


def file_left(e):
    return replace(e, left=["the state file x.bin"])


def bug_in_the_router(e):
    return replace(e, log=[*e.log, {"level": "error", "message": "Traceback"}])


def killed_at_the_end(e):
    return replace(e, exit_status=-9)


NAMES = list(JUDGES)
PLANTED = {
    request_lost: {NAMES[0], NAMES[4]},
    request_ended_twice: {NAMES[0]},
    request_counted_twice: {NAMES[0]},
    request_not_logged: {NAMES[1]},
    failure_called_served: {NAMES[1]},
    reply_of_another: {NAMES[2]},
    replies_all_alike: {NAMES[2]},
    failed_without_a_death: {NAMES[3]},
    long_prompt_served_plain: {NAMES[4]},
    handoff_unused: {NAMES[4]},
    another_prompt_in_the_slot: {NAMES[5]},
    unpinned: {NAMES[5]},
    lease_kept: {NAMES[6]},
    decoder_lost: {NAMES[6]},
    memory_grown: {NAMES[7]},
    file_left: {NAMES[8]},
    bug_in_the_router: {NAMES[9]},
    killed_at_the_end: {NAMES[9]},
}


@pytest.mark.parametrize("plant", PLANTED)
def test_planted_evidence_is_found(plant):
    found = judge(plant(copy.deepcopy(good())))
    assert {finding.sentence for finding in found if not finding.holds} == PLANTED[plant]


def test_every_finding_is_turned_red_by_something():
    assert set().union(*PLANTED.values()) == set(NAMES)


def test_metrics_are_read():
    text = '# HELP a b\n# TYPE a counter\na_total{x="1 2"} 3.0\nb 4\n'
    assert read_metrics(text) == {'a_total{x="1 2"}': 3.0, "b": 4.0}
