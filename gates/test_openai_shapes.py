"""The official `openai` client gets answers of the same shape from the fake and from a real server."""

import openai
import pytest

from gates.shapes import a_real_server, serving, shape, the_fake
from harness.conform.setting import Setting

MESSAGES = [{"role": "user", "content": "Name a river."}]
FLAGS = ("-np", "2", "-c", "2048", "--cache-ram", "0", "-a", "shapes")
EXTRA = {"ignore_eos": True}
ASKED = {
    "whole": {},
    "n_predict": {"max_tokens": openai.omit, "extra_body": {**EXTRA, "n_predict": 3}},
    "logprobs": {"logprobs": True, "top_logprobs": 2},
    "two": {"n": 2},
    "stop": {"stop": ["never said"]},
    "limits": {"max_completion_tokens": 3, "max_tokens": openai.omit},
    "seeded": {"temperature": 1.0, "seed": 7, "logit_bias": {"400": 1}},
    "timings": {"extra_body": {**EXTRA, "timings_per_token": True, "return_progress": True}},
}


def _choice(frame):
    """Frames of a choice in their order; those of none at the end."""
    return frame["choices"][0]["index"] if frame["choices"] else len(frame)


def shapes(url):
    """Of every answer, by what was asked."""
    with openai.OpenAI(base_url=f"{url}/v1", api_key="none", timeout=60, max_retries=0) as client:
        found = {"models": shape([each.to_dict() for each in client.models.list()])}
        for name, fields in ASKED.items():
            asked = {"model": "any", "temperature": 0, "max_tokens": 4, "extra_body": EXTRA} | fields
            chat = {**asked, "messages": MESSAGES}
            found[f"chat {name}"] = shape(client.chat.completions.create(**chat).to_dict())
            options = {"stream": True, "stream_options": {"include_usage": True}}
            frames = [each.to_dict() for each in client.chat.completions.create(**chat, **options)]
            # Two choices come side by side, and in which order their pieces come is anybody's guess.
            found[f"chat streamed {name}"] = shape(sorted(frames, key=_choice) if name == "two" else frames)
        text = {"model": "any", "prompt": "The otter", "temperature": 0, "max_tokens": 4, "extra_body": EXTRA}
        for name, fields in {"whole": {}, "logprobs": {"logprobs": 2}}.items():
            found[f"text {name}"] = shape(client.completions.create(**text, **fields).to_dict())
            streamed = client.completions.create(**text, **fields, stream=True)
            found[f"text streamed {name}"] = shape([each.to_dict() for each in streamed])
        with pytest.raises(openai.BadRequestError) as refused:
            client.chat.completions.create(model="any", messages=MESSAGES, top_logprobs=2)
        found["refused"] = {"code": refused.value.status_code, "body": refused.value.body}
    return found


def answered(decoder):
    with serving(decoder, Setting(FLAGS)) as (port, _):
        return shapes(f"http://127.0.0.1:{port}")


def test_the_client_takes_every_answer_of_the_fake():
    found = answered(the_fake())
    assert found["chat whole"]["usage"]["prompt_tokens_details"] == {"cached_tokens": "number"}
    assert found["chat logprobs"]["choices"][0]["logprobs"]["content"][0]["top_logprobs"][0]["logprob"] == "number"
    assert found["chat streamed whole"][-1]["choices"] == []
    assert found["chat streamed whole"][-1]["usage"]["completion_tokens"] == "number"
    assert found["text logprobs"]["choices"][0]["logprobs"]["content"][0]["token"] == "str"
    assert found["refused"]["code"] == 400
    assert len(found) == 2 + 2 * len(ASKED) + 4


@pytest.mark.real
def test_the_same_shapes_come_from_a_real_server(request):
    expected, found = answered(a_real_server(request.config)), answered(the_fake())
    for name, each in expected.items():
        assert found[name] == each, name
