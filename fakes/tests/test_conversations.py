"""Streams that outlive their clients: the work goes on, can be read again, looked up and ended."""

import pytest

from fakes.effects import Pause
from fakes.tests.stage import Job, Stage

BODY = {"prompt": [400, 401, 402], "n_predict": 5, "stream": True, "ignore_eos": True, "id_slot": 0}


class Alone:
    """Drives flows that have no client, when it is told to."""

    def __init__(self, stage):
        self.flows = []
        self.jobs = []
        stage.machine.orphan = lambda flow, waits: self.flows.append((flow, waits))

    def go(self):
        for flow, waits in self.flows:
            assert waits == Pause(0)
            self.jobs.append(Job(flow))
        self.flows = []
        for job in self.jobs:
            if job.waiting is not None and job.waiting.signal.is_set:
                job.go()


@pytest.fixture
def stage():
    return Stage()


@pytest.fixture
def alone(stage):
    return Alone(stage)


def start(stage, **more):
    return stage.start("POST", "/completion", {**BODY, **more}, **{"x_conversation_id": "river"})


def look_up(stage, *names):
    status, found = stage.post("/v1/streams/lookup", {"conversation_ids": list(names)})
    assert status == 200
    return found


def plain(body):
    return [{**event, "timings": None} for event in body]


def test_the_client_gets_the_stream_that_it_would_have_got(stage, alone):
    expected = Stage().start("POST", "/completion", BODY)
    job = start(stage)
    assert not job.started
    alone.go()
    job.go()
    assert job.ended
    assert plain(job.events) == plain(expected.events)


def test_a_client_that_leaves_does_not_end_the_work_and_can_read_all_of_it(stage, alone):
    job = start(stage)
    job.leave()
    assert look_up(stage, "river", "nobody") == [
        {
            "conversation_id": "river",
            "is_done": False,
            "total_bytes": 0,
            "started_at": 1_700_000_000,
            "completed_at": 0,
        }
    ]
    alone.go()
    again = stage.start("GET", "/v1/stream?conv_id=river")
    assert again.ended
    assert [event["tokens_predicted"] for event in again.events] == [1, 2, 3, 4, 5, 5]
    assert again.events[-1]["stop"]
    (said,) = look_up(stage, "river")
    assert said["is_done"]
    assert said["total_bytes"] == len(again.written)
    assert [entry["cancelled"] for entry in stage.journal.of("completion")] == [False]
    for at in (1, 100, len(again.written) - 1, len(again.written), len(again.written) + 5):
        assert stage.start("GET", f"/v1/stream?conv_id=river&from={at}").written == again.written[at:]


def test_who_reads_while_it_is_worked_on_gets_what_is_there_and_what_comes(stage, alone):
    stage.control("POST", "/hold", {"point": "decoder.token", "at": 2})
    job = start(stage)
    alone.go()
    job.go()
    first = len(job.written)
    assert job.started
    assert not job.ended
    reader = stage.start("GET", "/v1/stream?conv_id=river&from=10")
    assert reader.written == job.written[10:]
    stage.control("POST", "/release", {"point": "decoder.token"})
    alone.go()
    for each in (job, reader):
        each.go()
        assert each.ended
    assert reader.written == job.written[10:]
    assert len(job.written) > first


@pytest.mark.parametrize("how", ["delete", "another"])
def test_it_ends_where_it_is_when_it_is_told_to_or_another_takes_its_name(stage, alone, how):
    stage.control("POST", "/hold", {"point": "decoder.token", "at": 2})
    job = start(stage)
    alone.go()
    job.go()
    if how == "delete":
        assert stage.start("DELETE", "/v1/stream?conv_id=river").status == 204
    else:
        start(stage, id_slot=1)
    for one in alone.jobs:
        one.go()
    job.go()
    assert job.ended
    assert not job.events[-1]["stop"]
    assert [entry["cancelled"] for entry in stage.journal.of("completion")] == [True]
    assert (look_up(stage, "river") == []) is (how == "delete")


def test_what_is_refused_is_no_conversation(stage, alone):
    job = stage.start("POST", "/completion", {"prompt": [1] * 2000, "stream": True}, x_conversation_id="river")
    alone.go()
    job.go()
    assert job.status == 400
    assert job.body["error"]["type"] == "exceed_context_size_error"
    assert look_up(stage, "river") == []


@pytest.mark.parametrize("headers", [{}, {"x_conversation_id": ""}])
def test_without_a_name_there_is_none(stage, alone, headers):
    assert stage.start("POST", "/completion", BODY, **headers).ended
    assert alone.flows == []


def test_what_is_not_streamed_is_none(stage, alone):
    assert stage.start("POST", "/completion", {**BODY, "stream": False}, x_conversation_id="river").ended
    assert look_up(stage, "river") == []


@pytest.mark.parametrize(
    ("method", "path", "status", "message"),
    [
        ("GET", "/v1/stream", 400, "Missing conversation id in path"),
        ("DELETE", "/v1/stream", 400, "Missing conversation id in path"),
        ("GET", "/v1/stream?conv_id=nobody", 404, "File Not Found"),
        ("GET", "/v1/stream?conv_id=river&from=x", 400, "Invalid 'from' offset"),
    ],
)
def test_refusals(stage, alone, method, path, status, message):
    start(stage)
    alone.go()
    job = stage.start(method, path)
    assert (job.status, job.body["error"]["message"]) == (status, message)


@pytest.mark.parametrize("body", [{}, {"conversation_ids": "river"}, {"conversation_ids": [5]}, [1]])
def test_a_look_up_of_nothing_is_an_empty_list(stage, body):
    assert stage.post("/v1/streams/lookup", body) == (200, [])


def test_a_look_up_that_is_no_json_is_refused(stage):
    status, body = stage.post("/v1/streams/lookup", b"x")
    assert status == 400
    assert set(body["error"]) == {"message", "type"}
    assert body["error"]["message"].startswith("invalid body: [json.exception.parse_error.101]")


def test_old_ones_are_forgotten(stage, alone):
    for number in range(70):
        job = stage.start("POST", "/completion", {**BODY, "n_predict": 1}, x_conversation_id=f"n{number}")
        alone.go()
        job.go()
    names = [each["conversation_id"] for each in look_up(stage, *(f"n{number}" for number in range(70)))]
    assert names == [f"n{number}" for number in range(6, 70)]
