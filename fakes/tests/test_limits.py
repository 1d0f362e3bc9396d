"""Every limit that a fault can have, on a decoder: which requests it lets the fault meet, and which not."""

import pytest

from fakes.catalogue import catalogue
from fakes.fault import FaultError
from fakes.fault_setting import parse_setting
from fakes.tests.stage import Stage

RIVER = {"prompt": "tell me of the river", "n_predict": 2}
MILL = {"prompt": "tell me of the mill", "n_predict": 2}


def statuses(limit, *requests):
    """What each request is answered while a fault with this limit turns into 418 what it meets."""
    stage = Stage(faults=(f"http-status=418,{limit}",))
    found = []
    for path, body in requests:
        job = stage.start("GET" if body is None else "POST", path, body)
        found.append(job.status)
    return found


def completion(**more):
    return "/completion", RIVER | more


TOKENS = Stage().machine.model.tokenizer.encode("tell me of the river", add_special=True)
CASES = {
    "only=2": ([completion()] * 4, [200, 418, 200, 200]),
    "every=2": ([completion()] * 5, [200, 418, 200, 418, 200]),
    "first=2": ([completion()] * 4, [418, 418, 200, 200]),
    "op=erase": ([completion(), ("/slots/0?action=erase", {}), ("/health", None)], [200, 418, 200]),
    "op=completion": ([completion(), ("/v1/completions", RIVER), ("/tokenize", {"content": "x"})], [418, 418, 200]),
    "path=/health": ([("/health", None), ("/v1/health", None)], [418, 200]),
    "path=/v1/*": ([("/health", None), ("/v1/health", None), ("/v1/models", None)], [200, 418, 418]),
    "slot=1": ([completion(id_slot=0), completion(id_slot=1), ("/slots/1?action=erase", {})], [200, 418, 418]),
    "stream=yes": ([completion(), completion(stream=True)], [200, 418]),
    "stream=no,op=completion": ([completion(), completion(stream=True)], [418, 200]),
    "text=river": ([completion(), ("/completion", MILL), completion(prompt=TOKENS)], [418, 200, 418]),
    "text=river,only=2": ([completion(), ("/completion", MILL), completion()], [200, 200, 418]),
    "op=completion,slot=1,every=2": ([completion(id_slot=n % 2) for n in range(6)], [200, 200, 200, 418, 200, 200]),
}


@pytest.mark.parametrize("limit", CASES)
def test_whom_a_limit_lets_the_fault_meet(limit):
    requests, expected = CASES[limit]
    assert statuses(limit, *requests) == expected


def test_what_a_limit_leaves_out_is_not_counted_as_reached():
    stage = Stage(faults=("http-status=418,text=river",))
    stage.complete(MILL["prompt"])
    assert stage.player.counts() == {"http-status": {"reached": 0, "fired": 0}}


def test_a_limit_holds_at_the_points_behind_the_request_too():
    """Slot choice, evaluation, counters: each knows for which request it is."""
    for setting in ("pin-ignored=next", "counters-lie=more", "reuse-none"):
        stage = Stage(faults=(f"{setting},text=river",))
        for prompt in (MILL["prompt"], RIVER["prompt"]):
            stage.complete(prompt, id_slot=0)
            stage.complete(prompt, id_slot=0)
        counted = stage.player.counts()[setting.partition("=")[0]]
        assert counted["fired"] == counted["reached"] in (1, 2), setting


@pytest.mark.parametrize(
    ("setting", "why"),
    [
        ("provider-exit,slot=1", "meets no request at provider.prefill, so slot= would never hold"),
        ("connect-hold,op=completion", "so op= would never hold"),
        ("engine-busy,text=river", "so text= would never hold"),
        ("http-hang,stream=maybe", "'maybe'"),
        ("http-hang,slot=x", "'x' is no whole number"),
        ("http-hang,every=0", "no whole number from 1"),
    ],
)
def test_a_limit_that_could_never_hold_is_refused(setting, why):
    with pytest.raises(FaultError, match=why):
        parse_setting(setting, catalogue())


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("kvshare-refuse,onyl=2", "fault kvshare-refuse has no limit 'onyl'; did you mean only?"),
        ("http-status=503,onyl=2", "fault http-status has no limit 'onyl'; did you mean only?"),
        ("http-status,every=2,pth=/x,first=1", "fault http-status has no limit 'pth'; did you mean path"),
        ("kvshare-refus,only=2", "no fault is called 'kvshare-refus'; did you mean kvshare-refuse"),
        ("http-status=abc", "fault http-status: 'abc' is no status"),
    ],
)
def test_a_mistyped_limit_is_named_and_not_taken_for_a_value(text, why):
    with pytest.raises(FaultError) as refused:
        parse_setting(text, catalogue())
    assert str(refused.value).startswith(why)


def test_a_value_with_commas_of_its_own_is_a_value():
    assert parse_setting("back-as-other-model=toy:seed=2,layers=4,only=2", catalogue()).value == "toy:seed=2,layers=4"
