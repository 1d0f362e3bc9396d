"""What a client asks, and the body that goes on."""

import json

import pytest

from router.errors import Refusal
from router.request_body import Endpoint, Why, read_request, surely_shorter, why_not


def text(**fields):
    return read_request(Endpoint.TEXT, json.dumps({"prompt": "a b c", **fields}).encode())


def chat(*messages, **fields):
    return read_request(Endpoint.CHAT, json.dumps({"messages": list(messages), **fields}).encode())


USER = {"role": "user", "content": "hello"}


NO_OBJECTS = (b"", b"{", b"[1]", b'"x"', b"\xff{}", b'{"a": NaN}', b"[" * 100000, "{}".encode("utf-16"))


@pytest.mark.parametrize("raw", NO_OBJECTS, ids=range(len(NO_OBJECTS)))
def test_what_is_no_json_object_is_refused(raw):
    with pytest.raises(Refusal) as refused:
        read_request(Endpoint.TEXT, raw)
    assert refused.value.status == 400


@pytest.mark.parametrize("slot", [0, 1, -1, "7", [0], False])
def test_a_client_cannot_choose_a_slot(slot):
    with pytest.raises(Refusal, match="id_slot"):
        text(id_slot=slot)


def test_a_null_slot_chooses_nothing():
    assert json.loads(text(id_slot=None).with_fields({"id_slot": 1}))["id_slot"] == 1


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"cache_prompt": False}, Why.CACHE_PROMPT_FALSE),
        ({"n": 2}, Why.SEVERAL_CHOICES),
        ({"n_cmpl": 2}, Why.SEVERAL_CHOICES),
        ({"lora": [{"id": 0, "scale": 1.0}]}, Why.LORA),
        ({"response_fields": ["content"]}, Why.RESPONSE_FIELDS),
        ({"prompt": ["a", "b"]}, Why.SEVERAL_PROMPTS),
        ({"prompt": [[1, 2], [3]]}, Why.SEVERAL_PROMPTS),
        ({"prompt": {"prompt_string": "a", "multimodal_data": ["x"]}}, Why.MULTIMODAL),
        ({"prompt": ""}, Why.NO_PROMPT),
        ({"prompt": []}, Why.NO_PROMPT),
        ({"prompt": None}, Why.NO_PROMPT),
        ({"prompt": 7}, Why.NO_PROMPT),
        ({"max_tokens": "many"}, Why.BAD_FIELD),
        ({"n_predict": -2}, Why.BAD_FIELD),
        ({"max_completion_tokens": [1]}, Why.BAD_FIELD),
        ({"temperature": {}}, Why.BAD_FIELD),
        ({"n": "2"}, Why.BAD_FIELD),
        ({"stream": 1}, Why.BAD_FIELD),
        ({"cache_prompt": "no"}, Why.BAD_FIELD),
    ],
)
def test_what_is_not_handed_over_has_its_reason(fields, why):
    assert why_not(text(**fields)) is why


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"cache_prompt": True},
        {"cache_prompt": None},
        {"n": 1},
        {"n_predict": -1, "temperature": -5, "top_k": 1.5},
        {"max_tokens": True, "seed": None, "stream": None},
        {"stop": 5, "grammar": 5, "unknown": "x"},
        {"lora": []},
        {"response_fields": []},
        {"response_fields": ["content", "timings"]},
        {"prompt": [1, 2, 3]},
        {"prompt": [1, " two", 3]},
        {"prompt": ["one prompt"]},
        {"prompt": [[1, 2, 3]]},
        {"prompt": {"prompt_string": "a"}},
    ],
)
def test_what_can_be_handed_over(fields):
    assert why_not(text(**fields)) is None


@pytest.mark.parametrize("kind", ["image_url", "input_audio", "file", "something_new"])
def test_a_chat_with_anything_but_text_is_not_handed_over(kind):
    parts = {"role": "user", "content": [{"type": "text", "text": "what is this"}, {"type": kind}]}
    assert why_not(chat(USER, parts)) is Why.MULTIMODAL


def test_a_chat_in_text_parts_and_with_tools_is_handed_over():
    parts = {"role": "user", "content": [{"type": "text", "text": "hi"}]}
    assert why_not(chat(USER, parts, tools=[{"type": "function"}])) is None


@pytest.mark.parametrize("messages", [None, [], "x"])
def test_a_chat_without_messages_has_no_prompt(messages):
    assert why_not(read_request(Endpoint.CHAT, json.dumps({"messages": messages}).encode())) is Why.NO_PROMPT


@pytest.mark.parametrize("raw", [b'{"prompt":"a"}', b' {"prompt" : "a" } \n', b"{}", b'{"x":1.10,"x":2}'])
def test_the_clients_bytes_go_on_with_our_fields_behind(raw):
    out = read_request(Endpoint.TEXT, raw).with_fields({"id_slot": 3, "cache_prompt": True})
    assert out.startswith(raw.rstrip()[:-1])
    value = json.loads(out)
    assert (value.pop("id_slot"), value.pop("cache_prompt")) == (3, True)
    assert value == json.loads(raw)


def test_our_fields_stand_once_where_the_client_had_them_too():
    out = text(cache_prompt=True).with_fields({"id_slot": 0, "cache_prompt": False})
    assert out.count(b"cache_prompt") == 1
    assert json.loads(out)["cache_prompt"] is False


def test_without_fields_the_body_is_the_clients_own():
    request = text()
    assert request.with_fields({}) is request.raw


@pytest.mark.parametrize(
    ("prompt", "shorter"), [("x" * 13, True), ("x" * 14, False), ([1] * 15, True), ([1] * 16, False), ([1, "x"], False)]
)
def test_short_without_tokenizing_only_where_it_is_sure(prompt, shorter):
    assert surely_shorter(text(prompt=prompt), 16) is shorter


def test_a_short_chat_may_be_long_behind_its_template():
    assert not surely_shorter(chat({"role": "user", "content": "hi"}), 16)
