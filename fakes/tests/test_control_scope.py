"""Two tests on one fake: what one sets, holds, reads and clears is its own, by a header or by a word in its prompts."""

import pytest

from fakes.effects import Await
from fakes.tests.stage import Stage

ANNA, BERT = {"x-fake-scope": "anna"}, {"x-fake-scope": "bert"}


def nonce(word, **more):
    return {"prompt": f"{word} tells of the river", "n_predict": 3, **more}


@pytest.fixture
def stage():
    one = Stage()
    one.journal.kept = one.journal.entries  # as a fake's own journal has it
    return one


def tell(stage, path, body=None, scope=None):
    headers = {"x-fake-scope": scope} if scope else {}
    return stage.control("POST", path, body or {}, **headers)


def ask(stage, body, **headers):
    return stage.post("/completion", body, **headers)[0]


def test_a_fault_of_one_test_touches_only_its_own_requests(stage):
    tell(stage, "/faults", {"set": ["http-status=418"]}, "anna")
    assert ask(stage, nonce("someone"), **ANNA) == 418
    assert ask(stage, nonce("anna")) == 418  # by the word in its prompt, as behind a router that passes no header on
    assert ask(stage, nonce("someone"), **BERT) == 200
    assert ask(stage, nonce("someone")) == 200


def test_the_same_fault_is_anothers_with_another_value(stage):
    tell(stage, "/faults", {"set": ["http-status=418"]}, "anna")
    tell(stage, "/faults", {"set": ["http-status=429"]}, "bert")
    assert (ask(stage, nonce("x"), **ANNA), ask(stage, nonce("x"), **BERT)) == (418, 429)
    tell(stage, "/faults", {"clear": True}, "anna")
    assert (ask(stage, nonce("x"), **ANNA), ask(stage, nonce("x"), **BERT)) == (200, 429)
    status, body = tell(stage, "/faults", {"clear": ["http-status"]}, "anna")
    assert (status, "is not set" in body["error"]["message"]) == (400, True)
    tell(stage, "/reset", scope="anna")
    assert ask(stage, nonce("x"), **BERT) == 429
    tell(stage, "/reset")
    assert ask(stage, nonce("x"), **BERT) == 200


def test_each_sees_its_own_counts(stage):
    tell(stage, "/faults", {"set": ["http-status=418,op=completion"]}, "anna")
    tell(stage, "/faults", {"set": ["http-status=429,only=2"]}, "bert")
    for _ in range(3):
        ask(stage, nonce("x"), **ANNA)
        ask(stage, nonce("x"), **BERT)
    seen = [stage.control("GET", "/state", **one)[1]["faults"] for one in (ANNA, BERT, {})]
    assert seen == [
        {"http-status": {"reached": 3, "fired": 3}},
        {"http-status": {"reached": 3, "fired": 1}},
        {"http-status": {"reached": 6, "fired": 4}},
    ]


def test_a_reset_of_one_leaves_the_slots_to_the_other(stage):
    assert ask(stage, nonce("bert", id_slot=0)) == 200
    tell(stage, "/reset", scope="anna")
    assert len(stage.machine.slots[0].tokens) > 3
    tell(stage, "/reset")
    assert len(stage.machine.slots[0].tokens) == 0


def test_a_hold_of_one_lets_the_other_pass(stage):
    tell(stage, "/hold", {"point": "decoder.reply"}, "anna")
    held = stage.start("POST", "/completion", nonce("x", id_slot=0), **ANNA)
    assert isinstance(held.waiting, Await)
    assert ask(stage, nonce("x", id_slot=1), **BERT) == 200
    assert tell(stage, "/release", {"point": "decoder.reply"}, "bert")[1]["released"] == 0
    assert stage.control("GET", "/state", **BERT)[1]["held"] == {}
    assert stage.control("GET", "/state", **ANNA)[1]["held"] == {"decoder.reply": 1}
    assert tell(stage, "/release", {"point": "decoder.reply"}, "anna")[1]["released"] == 1
    held.go()
    assert held.status == 200


def test_a_hold_can_be_for_some_requests_only(stage):
    tell(stage, "/hold", {"point": "decoder.started", "when": {"slot": 1}})
    assert ask(stage, nonce("x", id_slot=0)) == 200
    assert isinstance(stage.start("POST", "/completion", nonce("x", id_slot=1)).waiting, Await)


def test_each_reads_its_own_entries_and_those_it_wants(stage):
    for index, entry in enumerate(stage.journal.entries):
        entry["seq"] = index + 1
    ask(stage, nonce("x"), **ANNA)
    ask(stage, nonce("bert"))
    stage.post("/slots/0?action=erase", {}, **ANNA)
    for index, entry in enumerate(stage.journal.entries, 1):
        entry["seq"] = index

    def read(query="", **headers):
        return [entry["event"] for entry in stage.control("GET", f"/journal{query}", **headers)[1]["entries"]]

    assert read(**ANNA) == ["completion", "erase"]
    assert read(**BERT) == ["completion"]
    assert read("?event=erase") == ["erase"]
    assert read("?event=erase", **BERT) == []
    assert read("?after=1") == ["completion", "erase"]
    assert stage.control("GET", "/journal?after=x")[0] == 400


@pytest.mark.parametrize(
    ("path", "body", "scope", "why"),
    [
        ("/faults", {"set": ["connect-refuse"]}, "anna", "decoder.listen meets no request"),
        ("/faults", {"set": ["http-hang,scope=bert"]}, "anna", "scope=bert in a call of the scope anna"),
        ("/faults", {"set": ["connect-drop,path=/health"]}, None, "so path= would never hold"),
        ("/faults", {"set": ["load-slow,slot=1"]}, None, "so slot= would never hold"),
        ("/hold", {"point": "decoder.accept"}, None, "nobody can be held at decoder.accept"),
        ("/hold", {"point": "decoder.load"}, "anna", "decoder.load meets no request"),
        ("/hold", {"point": "decoder.reply", "when": {"slto": "1"}}, None, "did you mean slot"),
        ("/hold", {"point": "decoder.reply", "when": []}, None, "when is an object"),
        ("/hold", {"point": "decoder.repl"}, None, "did you mean decoder.reply"),
        ("/hold", {"point": "provider.claim"}, None, "is a provider's"),
    ],
)
def test_what_cannot_be_is_refused_in_words(stage, path, body, scope, why):
    status, answer = tell(stage, path, body, scope)
    assert status == 400
    assert why in answer["error"]["message"]
    assert stage.machine.quiet


@pytest.mark.parametrize(
    ("method", "path", "body", "message"),
    [
        ("GET", "/journal?event=completoin", None, "no journal has an event 'completoin'; did you mean completion"),
        ("GET", "/journal?evnt=end", None, "GET /journal takes no 'evnt'; did you mean event?"),
        ("GET", "/state?event=end", None, "GET /state takes no 'event'; it takes nothing"),
        ("POST", "/faults", {"sets": []}, "POST /faults takes no 'sets'; did you mean set?"),
        ("POST", "/hold", {"point": "decoder.token", "wen": {}}, "POST /hold takes no 'wen'; did you mean when?"),
        ("POST", "/reset", {"point": "decoder.token"}, "POST /reset takes no 'point'; it takes nothing"),
    ],
)
def test_a_call_that_says_what_nobody_listens_to_is_refused(stage, method, path, body, message):
    status, said = stage.control(method, path, body)
    assert status == 400
    assert said["error"]["message"].startswith(message)
    assert stage.control("GET", "/state")[1]["held"] == {}
