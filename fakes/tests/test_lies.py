"""Each fault of a decoder that answers well and did otherwise, or gives no slot: what it changes, and only that."""

import errno
import json
import signal

import pytest

from fakes.effects import Await, CutConnection, SendShare, Sent
from fakes.steps import Die
from fakes.tests.stage import Memory, Stage
from wire.errors import RemoteWireError
from wire.region import ShareMessageDecoder, encode_share_message

PROMPT = [0, 300, 301, 302, 303, 304]
OTHER = [0, 900, 901, 902, 903, 904, 905]
CHAT = {"messages": [{"role": "user", "content": "tell me of the river"}], "max_tokens": 4, "id_slot": 0}
FILE = {"filename": "a.bin"}


class Counting(Memory):
    """Files whose sizes are looked at."""

    def size(self, name="a.bin"):
        data = self.files.get("/" + name)
        return None if data is None else len(data)


def _stage(*faults):
    stage = Stage(faults=faults)
    stage.files = stage.machine.files = Counting()
    return stage


def handed_over(stage, held=PROMPT):
    """Slot 0 as after a good adopt, and a reply of a good decoder to compare with."""
    plain = Stage().complete(PROMPT, id_slot=0)["tokens"]
    if held:
        stage.complete(held, n_predict=1, id_slot=0)
    return plain


def said(body):
    return body["timings"]["cache_n"], body["timings"]["prompt_n"]


def adopt(stage, tokens=PROMPT, share_id=None):
    """What an adopt says, and what the slot holds then."""
    stage.share(0, len(tokens))
    stage.machine.store.write(0, stage.machine.model.rows(stage.machine.model.cells(PROMPT)))
    wanted = stage.machine.slots[0].share_id if share_id is None else share_id
    status, body = stage.post("/slots/0?action=adopt", {"share_id": wanted, "tokens": tokens})
    return status, body.get("n_adopted"), len(stage.machine.slots[0].tokens)


ADOPTS = {
    "kvshare-adopt-empty": (200, 6, 0),
    "kvshare-adopt-fewer=2": (200, 4, 4),
    "kvshare-adopt-count": (200, 7, 6),
    "kvshare-adopt-count=-3": (200, 3, 6),
}


@pytest.mark.parametrize("fault", ADOPTS)
def test_what_an_adopt_says_and_what_it_did(fault):
    assert adopt(_stage(fault)) == ADOPTS[fault]
    assert adopt(_stage(f"{fault},only=2")) == adopt(_stage()) == (200, 6, 6)


def test_an_adopt_under_any_share_id():
    stage = _stage("kvshare-adopt-any-id")
    assert adopt(stage, share_id="another") == (200, 6, 6)
    assert adopt(_stage(), share_id="another")[0] == 400
    assert stage.post("/slots/0?action=adopt", {"share_id": "x", "tokens": PROMPT})[0] == 400  # not even shared
    assert stage.player.counts()["kvshare-adopt-any-id"] == {"reached": 1, "fired": 1}


def share(stage):
    """The message a share would send, and its reply."""
    job = stage.start("POST", "/slots/0?action=share", {"socket": "/tmp/s", "n_tokens": 6})
    assert isinstance(job.waiting, SendShare)
    message = job.waiting.message
    job.go(Sent(connected=True, n_descriptors=1))
    assert job.status == 200
    return message, job


HONEST_HEADER = json.loads(encode_share_message(share(_stage())[0].header)[4:])


def header(message):
    return json.loads(message.data or encode_share_message(message.header)[4:])


def changed(message):
    """Where the header is not the honest one."""
    return {name for name, value in HONEST_HEADER.items() if header(message).get(name) != value} - {"share_id"}


MESSAGES = {
    "kvshare-descriptors": lambda m, _: m.more_descriptors == -1 and not changed(m),
    "kvshare-descriptors=3": lambda m, _: m.more_descriptors == 3,
    "kvshare-message-late=700": lambda m, job: job.paused == [0.7] and not changed(m),
    "kvshare-message-after": lambda m, job: m.after_reply and m.late_s == 0.05 and not job.paused,
    "kvshare-message-cut": lambda m, _: m.cut_at == 40 and not changed(m),
    "kvshare-message-length": lambda m, _: m.length == 2 << 20,
    "kvshare-message-length=more": lambda m, _: m.length == len(encode_share_message(m.header)) - 4 + 100,
    "kvshare-message-length=zero": lambda m, _: m.length == 0,
    "kvshare-message-text": lambda m, _: m.data == b"the cache is yours",
    "kvshare-header": lambda m, _: changed(m) == {"regions"} and header(m)["regions"][0]["layout"] == "0" * 16,
    "kvshare-header=size": lambda m, _: (
        header(m)["regions"][0]["size"] == HONEST_HEADER["regions"][0]["size"] + (1 << 20)
    ),
    "kvshare-header=cells": lambda m, _: changed(m) == {"cells"} and header(m)["cells"]["count"] == 5,
    "kvshare-header=missing": lambda m, _: "tensors" not in header(m),
    "kvshare-foreign-cells": lambda m, _: header(m)["cells"] == {"first": 6, "count": 6},
    "kvshare-other-share-id": lambda m, job: job.body["share_id"] == f"not-{m.header.share_id}" and not changed(m),
    "kvshare-count": lambda m, job: job.body["n_tokens"] == 7 and not changed(m),
    "kvshare-count=-2": lambda m, job: job.body["n_tokens"] == 4,
}


@pytest.mark.parametrize("fault", MESSAGES)
def test_what_a_share_sends_and_says(fault):
    message, job = share(_stage(fault))
    assert MESSAGES[fault](message, job)
    later, honest = share(_stage(f"{fault},only=2"))
    assert not MESSAGES[fault](later, honest)
    assert not changed(later)


@pytest.mark.parametrize("what", ["layout", "missing"])
def test_a_false_header_is_one_that_its_reader_refuses(what):
    message, _ = share(_stage(f"kvshare-header={what}"))
    data = len(message.data).to_bytes(4, "little") + message.data
    with pytest.raises(RemoteWireError):
        ShareMessageDecoder().receive(data)


REUSES = {
    "reuse-none": (0, 6),
    "reuse-not-pinned": (0, 6),
    "reuse-everything": (6, 0),
}


@pytest.mark.parametrize("fault", REUSES)
def test_what_of_the_slot_is_reused(fault):
    stage = _stage(f"{fault},first=1")
    plain = handed_over(stage)
    body = stage.complete(PROMPT, id_slot=0)
    assert said(body) == REUSES[fault]
    assert (body["tokens"] == plain) == (fault != "reuse-everything")
    again = stage.complete(PROMPT, id_slot=0)
    assert (said(again), again["tokens"]) == ((5, 1), plain)


def test_an_unpinned_request_reuses_what_a_pinned_one_may_not():
    stage = _stage("reuse-not-pinned")
    handed_over(stage)
    assert said(stage.complete(PROMPT)) == (5, 1)
    assert stage.player.counts()["reuse-not-pinned"] == {"reached": 0, "fired": 0}


def test_a_slot_that_is_reset_before_use_answers_from_the_tail_alone():
    stage = _stage("reuse-then-reset")
    plain = handed_over(stage, PROMPT[:4])
    body = stage.complete(PROMPT, id_slot=0)
    assert said(body) == (0, 2)
    assert body["tokens"] == Stage().complete(PROMPT[4:], id_slot=0)["tokens"] != plain
    assert stage.journal.of("completion")[-1]["n_prompt"] == 6


def test_the_answer_of_the_prompt_before():
    stage = _stage("answer-previous")
    first = stage.complete(OTHER, id_slot=0)
    second = stage.complete(PROMPT, id_slot=1)
    assert second["tokens"] == first["tokens"] != Stage().complete(PROMPT, id_slot=1)["tokens"]
    assert stage.player.counts()["answer-previous"] == {"reached": 1, "fired": 1}


def test_a_completion_that_waits_for_kv_keeps_its_slot_until_its_client_leaves():
    stage = _stage("wait-for-kv,slot=0")
    job = stage.start("POST", "/completion", {"prompt": PROMPT, "id_slot": 0})
    assert isinstance(job.waiting, Await)
    assert stage.machine.slots[0].is_busy
    assert stage.complete(PROMPT, id_slot=1)["tokens"]
    job.leave()
    assert not stage.machine.slots[0].is_busy


def files(stage):
    """A save of slot 0, a restore of the file into slot 1, an erase of slot 1: what each said, and what was left."""
    stage.complete(OTHER, n_predict=1, id_slot=1)
    stage.complete(PROMPT, n_predict=1, id_slot=0)
    save = stage.post("/slots/0?action=save", FILE)
    restore = stage.post("/slots/1?action=restore", FILE)
    held = len(stage.machine.slots[1].tokens)
    erase = stage.post("/slots/1?action=erase", {})
    return {
        "save": save[1].get("n_saved", save[0]),
        "restore": restore[1].get("n_restored", restore[0]),
        "held": held,
        "erase": erase[1].get("n_erased", erase[0]),
        "left": len(stage.machine.slots[1].tokens),
    }


HONEST_FILES = {"save": 6, "restore": 6, "held": 6, "erase": 6, "left": 0}
NO_FILE = {"restore": 400, "held": 0, "erase": 0}
FILES = {
    "slot-actions-off": {"save": 400, "restore": 400, "held": 7, "erase": 400, "left": 7},
    "slot-actions-off=501": {"save": 501, "restore": 501, "held": 7, "erase": 501, "left": 7},
    "save-refuse": {"save": 500, **NO_FILE},
    "save-count": {"save": 7},
    "save-count=-6": {"save": 0},
    "save-other-slot": {"restore": 7, "held": 7, "erase": 7},
    "save-half-file": NO_FILE,
    "save-half-file=0": NO_FILE,
    "save-disk-full": {"save": 500, **NO_FILE},
    "save-path-removed": {"save": 500, **NO_FILE},
    "restore-path-removed": NO_FILE,
    "restore-path-removed=denied": NO_FILE,
    "restore-count=-1": {"restore": 5},
    "restore-refuse-poisons": NO_FILE,
    "restore-stale-rows": {},
    "erase-refuse": {"erase": 500, "left": 6},
    "erase-ignored": {"left": 6},
    "erase-count=3": {"erase": 9},
}


@pytest.mark.parametrize("fault", FILES)
def test_what_files_and_erases_come_to(fault):
    stage = _stage(fault)
    seen = files(stage)
    assert {name: seen[name] for name in seen if seen[name] != HONEST_FILES[name]} == FILES[fault]
    name = fault.partition("=")[0]
    counts = stage.player.counts()[name]
    assert counts["fired"] == counts["reached"] >= 1
    left_alone = _stage(f"{fault},only=9")
    assert files(left_alone) == HONEST_FILES


@pytest.mark.parametrize(
    ("fault", "size"),
    [("save-half-file=25", 0.25), ("save-half-file=0", 0), ("save-disk-full=50", 0.5), ("save-path-removed", None)],
)
def test_how_much_of_a_file_is_there(fault, size):
    honest, stage = _stage(), _stage(fault)
    files(honest)
    files(stage)
    assert stage.files.size() == (None if size is None else int(honest.files.size() * size))


def test_a_full_disk_is_named_in_the_journal():
    stage = _stage("save-disk-full")
    files(stage)
    assert f"[Errno {errno.ENOSPC}]" in stage.journal.of("save")[0]["why"]


def test_another_slots_file_has_the_other_slots_rows():
    stage = _stage("save-other-slot")
    stage.complete(OTHER, n_predict=1, id_slot=1)
    stage.complete(PROMPT, n_predict=1, id_slot=0)
    assert stage.post("/slots/0?action=save", FILE)[1]["n_saved"] == 6
    stage.post("/slots/0?action=restore", FILE)
    assert stage.machine.slots[0].tokens.tolist() == OTHER


def test_stale_rows_under_the_files_tokens_answer_otherwise():
    stage = _stage("restore-stale-rows")
    plain = handed_over(stage)
    stage.post("/slots/0?action=save", FILE)
    stage.complete(OTHER, n_predict=1, id_slot=1)
    assert stage.post("/slots/1?action=restore", FILE)[1]["n_restored"] == 6
    body = stage.complete(PROMPT, id_slot=1)
    assert said(body) == (5, 1)
    assert body["tokens"] != plain


def test_a_poisoned_decoder_answers_nothing_even_after_an_erase():
    stage = _stage("restore-refuse-poisons")
    assert stage.complete(PROMPT, id_slot=0)["tokens"]
    assert stage.post("/slots/1?action=restore", FILE)[0] == 400
    stage.player.clear()
    stage.post("/slots/0?action=erase", {})
    body = stage.complete(PROMPT, id_slot=0)
    assert (body["content"], body["tokens"], body["tokens_predicted"]) == ("", [], 0)
    stage.control("POST", "/reset")
    assert stage.complete(PROMPT, id_slot=0)["tokens"]


def test_a_restore_of_nothing_kills_and_one_of_something_does_not():
    stage = _stage("restore-dies-empty")
    fates = []
    stage.machine.meet = fates.append
    stage.post("/slots/0?action=save", FILE)
    with pytest.raises(CutConnection):
        stage.post("/slots/1?action=restore", FILE)
    assert fates == [Die(signal.SIGSEGV)]
    stage.complete(PROMPT, n_predict=1, id_slot=0)
    stage.post("/slots/0?action=save", FILE)
    assert stage.post("/slots/1?action=restore", FILE)[0] == 200


SERVED = {"pin-ignored": 1, "pin-ignored=next": 1}


@pytest.mark.parametrize("fault", SERVED)
def test_a_pin_that_is_ignored(fault):
    stage = _stage(f"{fault},first=1")
    assert stage.complete(PROMPT, id_slot=0)["id_slot"] == 1
    assert stage.complete(PROMPT, id_slot=0)["id_slot"] == 0
    assert stage.complete(PROMPT)["id_slot"] in (0, 1)
    assert stage.journal.of("completion")[0]["id_slot"] == 0


def test_a_slot_that_is_busy_for_ever_is_the_only_one():
    stage = _stage("slot-stuck=1")
    assert stage.complete(PROMPT, id_slot=0)["tokens"]
    job = stage.start("POST", "/slots/1?action=erase", {})
    assert isinstance(job.waiting, Await)
    assert stage.get("/slots")[1][1]["is_processing"]
    stage.control("POST", "/reset")
    job.leave()
    assert stage.complete(PROMPT, id_slot=1)["tokens"]


def test_all_slots_busy_for_ever_and_a_decoder_that_says_it_is_well():
    stage = _stage("slots-all-stuck")
    jobs = [stage.start("POST", "/completion", {"prompt": PROMPT, **pin}) for pin in ({}, {"id_slot": 0})]
    assert all(isinstance(job.waiting, Await) for job in jobs)
    assert stage.get("/health") == (200, {"status": "ok"})


COUNTERS = {
    "counters-lie": (5, 1),
    "counters-lie=unused": (0, 6),
    "counters-lie=less": (0, 5),
    "counters-lie=more": (0, 7),
    "counters-lie=negative": (-1, 6),
}


@pytest.mark.parametrize("fault", [*COUNTERS])
def test_counters_that_are_not_what_was_done(fault):
    stage = _stage(fault)
    if fault == "counters-lie=unused":
        handed_over(stage)
    body = stage.complete(PROMPT, id_slot=0)
    assert said(body) == COUNTERS[fault]
    assert body["tokens"] == Stage().complete(PROMPT, id_slot=0)["tokens"]
    entry = stage.journal.of("completion")[-1]
    assert (entry["cache_n"], entry["prompt_n"]) == ((5, 1) if fault == "counters-lie=unused" else (0, 6))


def test_streams_tell_the_same_lies():
    stage = _stage("counters-lie=used")
    job = stage.start("POST", "/v1/chat/completions", CHAT | {"stream": True})
    timings = job.events[-2]["timings"]
    assert timings["prompt_n"] == 1
    assert timings["cache_n"] > 5


def ask(stage, method, path, body=None):
    job = stage.start(method, path, body)
    assert job.status == 200
    return job.body


MESSAGES_ONLY = {"messages": CHAT["messages"]}
ANSWERS = {
    "reply-no-timings": ("POST", "/v1/chat/completions", CHAT, lambda got, _: "timings" not in got and got["usage"]),
    "usage-lies=77": (
        "POST",
        "/v1/chat/completions",
        CHAT,
        lambda got, honest: (
            got["usage"]["prompt_tokens_details"]["cached_tokens"] == 77
            and got["timings"]["cache_n"] == honest["timings"]["cache_n"] == 0
        ),
    ),
    "slots-listing=busy": ("GET", "/slots", None, lambda got, _: all(slot["is_processing"] for slot in got)),
    "slots-listing=full": (
        "GET",
        "/slots",
        None,
        lambda got, _: [slot.get("n_prompt_tokens") for slot in got] == [1024] * 2,
    ),
    "slots-listing=fewer": ("GET", "/slots", None, lambda got, honest: got == honest[:1]),
    "slots-listing=none": ("GET", "/slots", None, lambda got, _: got == []),
    "props-slots": ("GET", "/props", None, lambda got, honest: got["total_slots"] == 64 and honest["total_slots"] == 2),
    "tokenize-differs": (
        "POST",
        "/tokenize",
        {"content": "the river", "add_special": True},
        lambda got, honest: got["tokens"] == honest["tokens"][1:],
    ),
    "tokenize-differs=no-last": (
        "POST",
        "/tokenize",
        {"content": "the river"},
        lambda got, honest: got["tokens"] == honest["tokens"][:-1],
    ),
    "tokenize-differs=one-more": (
        "POST",
        "/tokenize",
        {"content": "the river"},
        lambda got, honest: got["tokens"] == [*honest["tokens"], honest["tokens"][-1]],
    ),
    "template-differs": (
        "POST",
        "/apply-template",
        MESSAGES_ONLY,
        lambda got, honest: got["prompt"] == "Well, " + honest["prompt"],
    ),
}


@pytest.mark.parametrize("fault", ANSWERS)
def test_what_an_answer_says(fault):
    method, path, body, is_wrong = ANSWERS[fault]
    honest = ask(_stage(), method, path, body)
    stage = _stage(f"{fault},first=1")
    assert is_wrong(ask(stage, method, path, body), honest)
    assert not is_wrong(ask(stage, method, path, body), honest)
    assert ask(stage, "GET", "/health") == {"status": "ok"}
    assert list(stage.player.counts().values()) == [{"reached": 2, "fired": 1}]


def test_idle_is_what_a_listing_says_of_a_busy_slot():
    stage = _stage("slots-listing=idle,first=1", "wait-for-kv")
    busy = stage.start("POST", "/completion", {"prompt": PROMPT, "id_slot": 0})
    assert busy.status is None
    assert [[slot["is_processing"] for slot in ask(stage, "GET", "/slots")] for _ in range(2)] == [
        [False, False],
        [True, False],
    ]


def test_a_stream_without_timings():
    stage = _stage("stream-no-timings,only=1")
    streams = [stage.start("POST", "/v1/chat/completions", CHAT | {"stream": True}).events for _ in range(2)]
    assert [any("timings" in event for event in events if event != "[DONE]") for events in streams] == [False, True]
    assert len(streams[0]) == len(streams[1])


@pytest.mark.parametrize(
    ("limits", "status"),
    [
        ({"min_tokens": 100, "max_tokens": 1}, 500),
        ({"min_tokens": 100, "n_predict": 0}, 500),
        ({"min_tokens": 1, "max_tokens": 1}, 200),
        ({"min_tokens": 100, "n_predict": -1, "max_tokens": -1}, 200),
        ({"max_tokens": 1}, 200),
        ({"min_tokens": 100, "max_tokens": 200}, 200),
    ],
)
def test_limits_that_contradict_each_other(limits, status):
    stage = _stage("limits-checked")
    assert stage.post("/v1/chat/completions", {**MESSAGES_ONLY, "n_predict": 1, **limits})[0] == status
    assert stage.player.counts()["limits-checked"]["fired"] == (status == 500)


@pytest.mark.parametrize("stream", [True, False])
def test_a_token_behind_the_limit(stream):
    stage = _stage("limit-overrun,only=2")
    body = CHAT | {"max_tokens": 1, "stream": stream, "stream_options": {"include_usage": True}}
    counts = []
    for _ in range(3):
        job = stage.start("POST", "/v1/chat/completions", body)
        last = job.events[-2] if stream else job.body
        counts.append(last["usage"]["completion_tokens"])
    assert counts == [1, 2, 1]
    assert [len(entry["predicted"]) for entry in stage.journal.of("completion")] == counts


def test_an_answer_that_comes_late_is_of_work_that_was_done():
    stage = _stage("reply-late=700,op=erase")
    stage.complete(PROMPT, n_predict=1, id_slot=0)
    job = stage.start("POST", "/slots/0?action=erase", {})
    assert (job.status, job.paused) == (200, [0.7])
    assert stage.journal.of("erase")[0]["n_erased"] == 6
    assert stage.start("GET", "/health").paused == []


def _names(*tables):
    return {setting.partition("=")[0] for table in tables for setting in table}


TESTED = _names(ADOPTS, MESSAGES, REUSES, FILES, SERVED, COUNTERS, ANSWERS) | {
    "answer-previous",
    "kvshare-adopt-any-id",
    "limit-overrun",
    "limits-checked",
    "reply-late",
    "restore-dies-empty",
    "reuse-then-reset",
    "slot-stuck",
    "slots-all-stuck",
    "stream-no-timings",
    "wait-for-kv",
}
