"""Completions in all three forms, on a decoder without a socket."""

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakes.effects import Await
from fakes.point import Point
from fakes.tests.stage import Stage

PROMPT = "The otter counts seven pebbles"
CHAT = {"messages": [{"role": "user", "content": "Name a river."}], "max_tokens": 4}


@pytest.fixture
def stage():
    one = Stage()
    yield one
    one.machine.store.close()


def counts(body):
    timings = body["timings"]
    return timings["cache_n"], timings["prompt_n"], timings["predicted_n"]


def test_the_first_request_of_a_fresh_server_is_served_by_the_last_slot(stage):
    assert stage.complete(PROMPT)["id_slot"] == 1
    entry = stage.journal.of("completion")[0]
    assert (entry["id_slot"], entry["served_slot"]) == (None, 1)


def test_a_pinned_request_is_served_where_it_says_and_journalled_as_it_said(stage):
    assert stage.complete(PROMPT, id_slot=0)["id_slot"] == 0
    assert stage.complete(PROMPT, id_slot=7)["id_slot"] == 1
    assert [entry["id_slot"] for entry in stage.journal.of("completion")] == [0, 7]


def test_the_counters_of_a_first_and_of_a_repeated_prompt(stage):
    first, second = stage.complete(PROMPT), stage.complete(PROMPT)
    n = first["tokens_evaluated"]
    assert counts(first) == (0, n, 6)
    assert counts(second) == (n - 1, 1, 6)
    assert first["tokens"] == second["tokens"]
    assert first["tokens_cached"] == n + 5
    assert stage.machine.slots[1].tokens.tolist()[n:] == first["tokens"][:-1]


def test_a_prefix_is_reused_and_the_rest_dropped(stage):
    stage.complete([0, 300, 301, 302], id_slot=0)
    body = stage.complete([0, 300, 999, 998, 997], id_slot=0)
    assert counts(body) == (2, 3, 6)
    assert body["tokens"] == Stage().complete([0, 300, 999, 998, 997])["tokens"]


def test_without_cache_prompt_all_is_evaluated_and_stays(stage):
    first = stage.complete(PROMPT, id_slot=0)
    again = stage.complete(PROMPT, id_slot=0, cache_prompt=False)
    assert counts(again)[0] == 0
    assert again["tokens"] == first["tokens"]
    assert counts(stage.complete(PROMPT, id_slot=0))[1] == 1


@settings(max_examples=25)
@given(st.lists(st.integers(0, 2047), min_size=1, max_size=40), st.integers(0, 5), st.integers(1, 5))
def test_a_reply_may_be_asked_for_in_pieces(prompt, first, second):
    stage = Stage()
    whole = stage.complete(prompt, n_predict=first + second, id_slot=0)["tokens"]
    front = stage.complete(prompt, n_predict=first, id_slot=1)["tokens"][:first]
    body = stage.complete(prompt + front, n_predict=second, id_slot=1)
    assert front + body["tokens"] == whole
    assert body["timings"]["prompt_n"] == 1
    stage.machine.store.close()


def test_n_predict_0_yields_one_token(stage):
    body = stage.complete(PROMPT, n_predict=0)
    assert (body["tokens_predicted"], body["stop_type"], len(body["tokens"])) == (1, "limit", 1)


def test_a_full_slot_ends_the_reply(stage):
    body = stage.complete([300] * 1000, n_predict=-1)
    assert (body["tokens_predicted"], body["truncated"], body["stop_type"]) == (24, True, "limit")
    assert body["tokens_cached"] == 1023


def test_a_limit_reached_before_the_slot_is_full_is_no_truncation(stage):
    body = stage.complete([300] * 1000, n_predict=23)
    assert (body["tokens_predicted"], body["truncated"]) == (23, False)


@pytest.mark.parametrize("stream", [False, True])
def test_a_prompt_larger_than_a_slot_is_refused_as_plain_json(stage, stream):
    job = stage.start("POST", "/completion", {"prompt": [300] * 1024, "stream": stream})
    assert (job.status, job.started) == (400, False)
    assert job.body["error"]["type"] == "exceed_context_size_error"
    assert (job.body["error"]["n_prompt_tokens"], job.body["error"]["n_ctx"]) == (1024, 1024)
    assert stage.journal.of("completion")[0]["status"] == 400
    assert not stage.machine.slots[1].is_busy


def test_an_end_token_ends_the_reply_unless_it_is_ignored():
    stage = Stage(model="toy:eos=6")
    body = stage.complete(PROMPT, n_predict=200)
    assert body["stop_type"] == "eos"
    assert body["tokens"][-1] == 1
    assert "</s>" not in body["content"]
    assert stage.complete(PROMPT, n_predict=200, ignore_eos=True)["tokens_predicted"] == 200


def test_a_stop_word_is_cut_and_named(stage):
    words = stage.complete(PROMPT, n_predict=10)["content"].split()
    body = stage.complete(PROMPT, n_predict=10, stop=["nowhere", f" {words[3]}"])
    assert (body["stop_type"], body["stopping_word"]) == ("word", f" {words[3]}")
    assert body["content"].split() == words[:3]
    assert body["tokens_predicted"] == 4


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"{bad", "[json.exception.parse_error.101] parse error at line 1, column 2"),
        (b"", "[json.exception.parse_error.101]"),
        (b"[" * 100_000, "[json.exception.parse_error.101]"),
        (b'"\xff"', "[json.exception.parse_error.101]"),
        (b'{"prompt": "\\ud800"}', "[json.exception.parse_error.101]"),
        (b'{"prompt": "a", "seed": NaN}', "[json.exception.parse_error.101]"),
        ({}, "[json.exception.out_of_range.403] key 'prompt' not found"),
        ({"prompt": "a", "n_predict": "9"}, "Field 'n_predict': [json.exception.type_error.302] type must be number"),
        (
            {"prompt": "a", "n_predict": -2},
            "Field 'n_predict': Value must be between -1 <= value <= 2147483647, but got -2",
        ),
        ({"prompt": "a", "stream": 1}, "Field 'stream': [json.exception.type_error.302] type must be boolean"),
        ({"prompt": 7}, '"prompt" elements must be a string'),
        ({"prompt": []}, '"prompt" must not be empty'),
        ([1], "[json.exception.type_error.304] cannot use at() with array"),
        ({"prompt": [99_999]}, "Prompt contains invalid tokens"),
    ],
)
def test_a_bad_body_is_refused_with_the_servers_text(stage, body, message):
    status, answer = stage.post("/completion", body)
    assert status == 400
    assert answer["error"]["message"].startswith(message)


def test_null_means_the_default(stage):
    assert stage.complete(PROMPT, id_slot=None, stream=None, seed=None, stop=None)["tokens_predicted"] == 6


def test_an_id_slot_of_a_wrong_type_is_ignored(stage):
    assert stage.complete(PROMPT, id_slot="0")["id_slot"] == 1
    assert stage.journal.of("completion")[0]["id_slot"] == "0"


def test_response_fields_cut_the_answer(stage):
    body = stage.post(
        "/completion", {"prompt": "a", "n_predict": 1, "response_fields": ["timings/prompt_n", "no", "stop"]}
    )
    assert body == (200, {"timings/prompt_n": 2, "stop": True})


def test_several_prompts_are_answered_in_a_list(stage):
    status, body = stage.post("/completion", {"prompt": ["The river", [0, 300]], "n_predict": 2})
    assert status == 200
    assert [one["index"] for one in body] == [0, 1]
    assert body[0]["content"] == Stage().complete("The river", n_predict=2)["content"]


def test_a_native_stream_has_the_slot_in_its_last_frame_only_and_no_done(stage):
    job = stage.start("POST", "/completion", {"prompt": PROMPT, "n_predict": 3, "stream": True, "id_slot": 0})
    *parts, last = job.events
    assert [part["id_slot"] for part in parts] == [-1, -1, -1]
    assert [part["tokens_predicted"] for part in parts] == [1, 2, 3]
    assert (last["id_slot"], last["stop"], last["content"], last["timings"]["predicted_n"]) == (0, True, "", 3)
    assert [token for part in parts for token in part["tokens"]] == stage.complete(PROMPT, n_predict=3)["tokens"]


def test_a_text_stream_ends_with_usage_timings_and_done(stage):
    job = stage.start("POST", "/v1/completions", {"prompt": PROMPT, "max_tokens": 3, "stream": True})
    *parts, last, done = job.events
    assert done == "[DONE]"
    assert [part["choices"][0]["finish_reason"] for part in parts] == [None] * 3
    assert last["choices"][0] == {"text": "", "index": 0, "logprobs": None, "finish_reason": "length"}
    assert last["usage"]["completion_tokens"] == last["timings"]["predicted_n"] == 3
    whole = stage.post("/v1/completions", {"prompt": PROMPT, "max_tokens": 3})[1]
    assert "".join(part["choices"][0]["text"] for part in parts) == whole["choices"][0]["text"]


@pytest.mark.parametrize("usage", [False, True])
def test_a_chat_stream_in_its_order(stage, usage):
    more = {"stream_options": {"include_usage": True}} if usage else {}
    events = stage.start("POST", "/v1/chat/completions", CHAT | {"stream": True} | more).events
    assert events[0]["choices"][0]["delta"] == {"role": "assistant", "content": None}
    texts = [event["choices"][0]["delta"]["content"] for event in events[1:5]]
    assert events[5]["choices"][0] == {"finish_reason": "length", "index": 0, "delta": {}}
    assert events[-1] == "[DONE]"
    last = events[-2]
    assert last["timings"]["predicted_n"] == 4
    assert ("usage" in last, last["choices"] == []) == (usage, usage)
    assert len({event["id"] for event in events[:-1]}) == 1
    whole = stage.post("/v1/chat/completions", CHAT)[1]
    assert "".join(texts) == whole["choices"][0]["message"]["content"]


def test_a_chat_answer_counts_as_the_timings_do(stage):
    stage.post("/v1/chat/completions", CHAT)
    body = stage.post("/v1/chat/completions", CHAT)[1]
    tokens = stage.post("/v1/chat/completions/input_tokens", CHAT)[1]["input_tokens"]
    assert body["usage"]["prompt_tokens"] == tokens
    assert body["usage"]["prompt_tokens_details"]["cached_tokens"] == body["timings"]["cache_n"] == tokens - 1
    assert "tool_calls" not in body["choices"][0]["message"]


def test_what_the_assistant_already_said_is_continued_and_repeated(stage):
    messages = [*CHAT["messages"], {"role": "assistant", "content": "The river"}]
    body = stage.post("/v1/chat/completions", {"messages": messages, "max_tokens": 2})[1]
    assert body["choices"][0]["message"]["content"].startswith("The river ")


@pytest.mark.parametrize(
    ("messages", "status", "message"),
    [
        (None, 400, "'messages' is required"),
        ("hi", 400, "Expected 'messages' to be an array"),
        ([{"content": "hi"}], 500, "Failed to parse messages: Missing 'role' in message"),
        ([{"role": "user", "content": [{"type": "image_url"}]}], 500, "image input is not supported"),
    ],
)
def test_bad_messages_are_refused(stage, messages, status, message):
    answer = stage.post("/v1/chat/completions", {"messages": messages})
    assert answer[0] == status
    assert answer[1]["error"]["message"].startswith(message)


def test_two_choices_are_two_and_three_are_too_many_for_two_slots(stage):
    assert [c["index"] for c in stage.post("/v1/chat/completions", CHAT | {"n": 2})[1]["choices"]] == [0, 1]
    message = stage.post("/v1/chat/completions", CHAT | {"n": 3})[1]["error"]["message"]
    assert message == "Field 'n': Value must be between 1 <= value <= 2, but got 3"


def test_headers_go_out_when_the_slot_starts_and_the_prompt_is_evaluated_after(stage):
    stage.machine.holds.hold(Point.STARTED)
    job = stage.start("POST", "/completion", {"prompt": PROMPT, "n_predict": 2, "stream": True})
    assert (job.started, job.events) == (True, [])
    assert len(stage.machine.slots[1].tokens) == 0
    stage.machine.holds.release(Point.STARTED)
    job.go()
    assert job.ended


def test_a_queued_request_shows_nothing_until_its_slot_is_free(stage):
    stage.machine.holds.hold(Point.STARTED)
    body = {"prompt": PROMPT, "n_predict": 2, "stream": True, "id_slot": 0}
    first, second = stage.start("POST", "/completion", body), stage.start("POST", "/completion", body)
    assert (first.started, second.started) == (True, False)
    assert isinstance(second.waiting, Await)
    stage.machine.holds.release(Point.STARTED)
    first.go()
    assert second.waiting.signal.is_set
    second.go()
    assert second.events[-1]["timings"]["cache_n"] == len(stage.journal.of("completion")[0]["prompt_tokens"]) - 1


def test_a_client_that_leaves_frees_the_slot_and_its_tokens_stay(stage):
    stage.machine.holds.hold(Point.TOKEN, at=3)
    job = stage.start("POST", "/completion", {"prompt": PROMPT, "n_predict": 50, "stream": True})
    assert len(job.events) == 3
    job.leave()
    stage.machine.holds.release(Point.TOKEN)
    entry = stage.journal.of("completion")[0]
    assert (entry["cancelled"], entry["predicted_n"]) == (True, 3)
    slot = stage.machine.slots[1]
    assert not slot.is_busy
    assert len(slot.tokens) == entry["n_prompt"] + 2
    lines = stage.lines()
    assert any("W srv          stop: cancel task, id_task = 0" in line for line in lines)
    assert not any("print_timing" in line for line in lines)
    assert stage.complete(PROMPT)["timings"]["prompt_n"] == 1


def test_a_client_that_leaves_the_queue_is_forgotten(stage):
    stage.machine.holds.hold(Point.STARTED)
    first, second = (stage.start("POST", "/completion", {"prompt": PROMPT, "id_slot": 0, "n_predict": 1}) for _ in "ab")
    second.leave()
    stage.machine.holds.release(Point.STARTED)
    first.go()
    assert first.status == 200
    assert [(e["served_slot"], e["cancelled"]) for e in stage.journal.of("completion")] == [(None, True), (0, False)]


def test_every_token_can_be_held(stage):
    stage.machine.holds.hold(Point.TOKEN, at=1)
    job = stage.start("POST", "/completion", {"prompt": PROMPT, "n_predict": 4, "stream": True})
    for shown in (1, 2, 3):
        assert len(job.events) == shown
        job.go()
    job.go()
    assert job.ended
    assert len(stage.journal.of("held")) == 4


def test_the_rates_are_kept():
    stage = Stage("--prefill-tps", "100", "--decode-tps", "20")
    job = stage.start("POST", "/completion", {"prompt": [300] * 50, "n_predict": 3})
    assert job.paused == [0.5, 0.05, 0.05]


def test_progress_frames_come_before_the_first_token():
    stage = Stage("-b", "16")
    body = {"prompt": [300] * 40, "n_predict": 1, "stream": True, "return_progress": True}
    frames = [
        event["prompt_progress"]
        for event in stage.start("POST", "/completion", body).events
        if "prompt_progress" in event
    ]
    assert [(frame["processed"], frame["total"]) for frame in frames] == [(0, 40), (16, 40), (32, 40), (40, 40)]


def test_in_the_default_launch_an_idle_slot_is_wiped_when_another_starts():
    stage = Stage()
    stage.complete("one", id_slot=0)
    stage.complete("two", id_slot=1)
    assert all(slot.tokens for slot in stage.machine.slots)
    unified = Stage("-np", "-1", "--cache-ram", "100")
    unified.complete("one", id_slot=0)
    unified.complete("two", id_slot=1)
    assert [bool(slot.tokens) for slot in unified.machine.slots] == [False, True, False, False]


def test_the_log_of_a_repeated_prompt(stage):
    stage.complete(PROMPT, id_slot=0)
    stage.lines()
    stage.complete(PROMPT)
    text = "\n".join(line.split(" ", 1)[1] for line in stage.lines())
    for wanted in (
        "I slot get_availabl: id  0 | task -1 | selected slot by LCP similarity, f_sim_best = 1.000 (> 0.100 thold)",
        "I slot launch_slot_: id  0 | task 1 | processing task, is_child = 0",
        "W slot   operator(): id  0 | task 1 | need to evaluate at least 1 token for each active slot (n_past = ",
        "I slot      release: id  0 | task 1 | stop processing: n_tokens = ",
    ):
        assert wanted in text


@pytest.mark.parametrize(
    "path", ["/completion", "/v1/chat/completions", "/v1/chat/completions/input_tokens", "/tokenize"]
)
@pytest.mark.parametrize(
    "field", ["id_slot", "prompt", "messages", "content", "stop", "logit_bias", "stream_options", "n"]
)
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}"), ('[{"a":', "}]")])
def test_what_is_nested_deeply_is_answered(stage, path, field, opening, closing):
    body = {"prompt": "a", "messages": [{"role": "user", "content": "a"}], "content": "a", "n_predict": 1}
    body.pop(field, None)
    deep = opening * 500 + "1" + closing * 500
    status, answer = stage.post(path, (orjson.dumps(body).decode()[:-1] + f', "{field}": {deep}}}').encode())
    assert status in (200, 400, 500)
    assert status == 200 or answer["error"]["message"]
    orjson.dumps([entry for entry in stage.journal.entries if entry["event"] == "completion"])


def test_progress_tells_the_time_so_far_where_each_token_does():
    stage = Stage("-b", "16")
    body = {"prompt": [300] * 20, "n_predict": 1, "stream": True, "return_progress": True, "timings_per_token": True}
    first, second, *_, last = stage.start("POST", "/completion", body).events
    assert (first["timings"]["prompt_n"], first["timings"]["prompt_ms"], first["timings"]["predicted_ms"]) == (
        0,
        0.0,
        0.0,
    )
    assert second["timings"]["prompt_n"] == 16
    assert 0 < second["timings"]["prompt_ms"] < last["timings"]["prompt_ms"]
