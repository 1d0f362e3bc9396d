"""Several flows at the same time: each goes on when it can, all end together, and one that fails ends the others."""

import pytest

from fakes.effects import Await, ClientGone, Pause, Signal, Write
from fakes.side_by_side import side_by_side
from fakes.tests.stage import Stage


class Driver:
    """Carries out effects on a clock of its own. A signal that comes later is set by `at`: seconds to signal."""

    def __init__(self, at=None):
        self.now = 0.0
        self.written = []
        self.at = dict(at or {})

    def run(self, flows):
        flow = side_by_side(flows, lambda: self.now)
        try:
            while True:
                self._carry_out(next(flow))
        except StopIteration as end:
            return end.value

    def _carry_out(self, effect):
        if isinstance(effect, Write):
            self.written.append((round(self.now, 3), effect.events))
        elif isinstance(effect, Pause):
            self.now += effect.seconds
        else:
            self._wait(effect)

    def _wait(self, effect):
        until = None if effect.seconds is None else self.now + effect.seconds
        while not effect.signal.is_set:
            first = min(self.at, default=None)
            if first is None or (until is not None and until < first):
                assert until is not None, "it would wait for ever"
                self.now = until
                return
            self.now = first
            self.at.pop(first).set()


def ticking(name, seconds, count):
    for number in range(count):
        yield Pause(seconds)
        yield Write([f"{name}{number}"])
    return name


def awaiting(signal):
    yield Await(signal)
    yield Write(["rung"])
    return "bell"


def test_each_keeps_its_own_time_and_the_results_come_in_order():
    driver = Driver()
    assert driver.run([ticking("a", 0.02, 3), ticking("b", 0.03, 2)]) == ["a", "b"]
    assert sorted(driver.written) == [
        (0.02, ["a0"]),
        (0.03, ["b0"]),
        (0.04, ["a1"]),
        (0.06, ["a2"]),
        (0.06, ["b1"]),
    ]


def test_who_waits_for_a_signal_goes_on_when_it_comes_while_others_wait_for_time():
    signal = Signal()
    driver = Driver({0.05: signal})
    assert driver.run([awaiting(signal), ticking("a", 0.1, 1)]) == ["bell", "a"]
    assert driver.written == [(0.05, ["rung"]), (0.1, ["a0"])]


def test_a_signal_that_has_come_is_no_wait():
    signal = Signal()
    signal.set()
    assert Driver().run([awaiting(signal), awaiting(signal)]) == ["bell", "bell"]


def test_all_wait_for_signals():
    first, second = Signal(), Signal()
    driver = Driver({0.2: first, 0.1: second})
    driver.run([awaiting(first), awaiting(second)])
    assert [when for when, _ in driver.written] == [0.1, 0.2]


def kept(seen, name):
    try:
        yield Await(Signal())
    except ClientGone:
        seen.append(name)
        raise


def failing():
    yield Pause(0)
    raise LookupError("no")


def test_one_that_fails_ends_the_others_the_last_first():
    seen = []
    with pytest.raises(LookupError):
        Driver().run([kept(seen, "a"), failing(), kept(seen, "c")])
    assert seen == ["c", "a"]


@pytest.mark.parametrize("reads", [False, True])
def test_when_the_client_leaves_all_are_told(reads):
    seen = []
    flow = side_by_side([kept(seen, "a"), ticking("b", 0.1, 1) if reads else kept(seen, "b")], lambda: 0.0)
    next(flow)
    with pytest.raises(ClientGone):
        flow.throw(ClientGone())
    assert seen == (["a"] if reads else ["b", "a"])


def test_a_client_that_leaves_while_one_writes_ends_that_one_too():
    seen = []

    def writing():
        try:
            yield Write(["x"])
        except ClientGone:
            seen.append("writer")
            raise

    flow = side_by_side([writing(), kept(seen, "b")], lambda: 0.0)
    assert isinstance(next(flow), Write)
    with pytest.raises(ClientGone):
        flow.throw(ClientGone())
    assert "writer" in seen


def test_prompts_take_a_slot_each_though_one_slot_holds_them_all():
    stage = Stage()
    stage.complete([400, 401, 402, 403], 1, id_slot=0)
    found = stage.complete([[400, 401, 402, 403], [400, 401, 402, 403]], 2)
    assert [(each["index"], each["id_slot"], each["timings"]["cache_n"]) for each in found] == [(0, 0, 3), (1, 1, 0)]


def test_more_prompts_than_slots_wait_their_turn():
    found = Stage().complete([[400], [401], [402], [403]], 2)
    assert [each["index"] for each in found] == [0, 1, 2, 3]
    assert [each["id_slot"] for each in found] == [1, 0, 1, 0]


def test_prompts_for_one_slot_come_one_after_the_other():
    found = Stage().complete([[400, 401], [400, 401]], 2, id_slot=0)
    assert [each["timings"]["cache_n"] for each in found] == [0, 1]


def events(path, body):
    stage = Stage()
    job = stage.start("POST", path, {"max_tokens": 2, "stream": True, "ignore_eos": True, **body})
    assert job.ended
    return job.events


@pytest.mark.parametrize("path", ["/completion", "/v1/completions"])
def test_a_stream_says_null_when_a_further_prompt_gets_its_slot(path):
    found = events(path, {"prompt": [[400], [401], [402]]})
    assert found[0] is None
    assert found.count(None) == 2


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/completion", {"prompt": [[400], [401]], "return_progress": True}),
        ("/v1/completions", {"prompt": [400], "n": 2}),
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": "a"}], "n": 2}),
    ],
)
def test_it_does_not_say_so_with_progress_for_choices_or_in_a_chat(path, body):
    assert None not in events(path, body)


def test_one_prompt_that_does_not_fit_ends_the_other_and_none_that_waits_gets_a_slot():
    stage = Stage()
    status, body = stage.post("/completion", {"prompt": [[400], [401] * 2000, [402]], "n_predict": 5})
    assert (status, body["error"]["type"]) == (400, "exceed_context_size_error")
    entries = {entry["n_prompt"]: entry for entry in stage.journal.of("completion")}
    assert [(entry["served_slot"], entry["cancelled"]) for entry in stage.journal.of("completion")] == [
        (0, False),
        (None, True),
        (1, True),
    ]
    assert entries[2000]["status"] == 400
    assert all(not slot["is_processing"] for slot in stage.get("/slots")[1])
