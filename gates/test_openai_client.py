"""The official `openai` client in front of the router: streamed and not, on the fake and on a real server."""

import openai
import pytest

from gates.attended import attended, with_client

FAKE = """\
scenario: the openai client in front of the fake
under_test: router
provider: {}
router: {kv_share: true}
requests:
  - {prompt: {tokens: 30}}
checks:
  it is answered:
    reply: {status: 200}
"""

REAL = """\
scenario: the openai client in front of a real server
under_test: router
decoder: {real: true, model: default, args: [-c, "1024", -t, "1"]}
prefill: {real: true, model: default, args: [-c, "1024", -t, "1"]}
budget_s: 300
requests:
  - {prompt: hello, deadline_s: 90, max_tokens: 1}
checks:
  it is answered:
    reply: {status: 200}
"""

MESSAGES = [{"role": "user", "content": "Write the alphabet, one letter after another: a, b, c, and go on to the end"}]
DEADLINE_S = 120


def chats(url):
    """The same greedy chat, not streamed and streamed, and a text completion both ways."""
    with openai.OpenAI(base_url=f"{url}/v1", api_key="none", timeout=DEADLINE_S, max_retries=0) as client:
        asked = {"model": "any", "temperature": 0, "max_tokens": 8}
        whole = client.chat.completions.create(messages=MESSAGES, **asked)
        streamed = list(client.chat.completions.create(
            messages=MESSAGES, stream=True, stream_options={"include_usage": True}, **asked))  # fmt: skip
        text = client.completions.create(prompt=MESSAGES[0]["content"], **asked)
        pieces = list(client.completions.create(prompt=MESSAGES[0]["content"], stream=True, **asked))
        models = [model.id for model in client.models.list()]
        with pytest.raises(openai.BadRequestError) as refused:
            client.chat.completions.create(messages=MESSAGES, extra_body={"id_slot": 1}, **asked)
    return whole, streamed, text, pieces, models, refused.value


def check(whole, streamed, text, pieces, models, refused):
    assert whole.usage.completion_tokens == 8
    assert whole.choices[0].finish_reason == "length"
    said = "".join(chunk.choices[0].delta.content or "" for chunk in streamed if chunk.choices)
    assert said == whole.choices[0].message.content != ""
    assert [chunk.choices[0].finish_reason for chunk in streamed if chunk.choices][-1] == "length"
    assert streamed[-1].usage.completion_tokens == 8
    assert "".join(chunk.choices[0].text for chunk in pieces) == text.choices[0].text != ""
    assert models
    assert "id_slot" in str(refused)


def test_in_front_of_the_fake(session, tmp_path):
    kept = []
    record = attended(session, tmp_path, FAKE, with_client(chats, kept))
    check(*kept[0])
    own = [event.fields for event in record.journals["decoder"].events if event.event == "completion"][:4]
    assert [each["stream"] for each in own] == [False, True, False, True]
    assert [each["endpoint"] for each in own] == ["/v1/chat/completions"] * 2 + ["/v1/completions"] * 2
    assert [each["prompt_n"] for each in own] == [1, 1, 1, 1]


@pytest.mark.real
def test_in_front_of_a_real_server(session, tmp_path, request):
    from harness.errors import Unavailable
    from harness.pytest_plugin import asked_for_real

    kept = []
    real = asked_for_real(request.config)
    try:
        record = attended(session, tmp_path, REAL, with_client(chats, kept), real=real)
    except Unavailable as missing:
        if real:
            raise
        pytest.skip(str(missing))
    check(*kept[0])
    assert any("hybrid:" in line and "prompt tokens: prefill" in line for line in record.logs["build"].lines)
