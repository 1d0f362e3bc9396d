"""The command line: defaults, what beats what, and one clear line for what cannot be served."""

import pytest

from router.errors import ConfigError
from router.flags import read_command_line

URL = "http://127.0.0.1:8080"


def config(*words, env=None):
    return read_command_line(list(words), env or {}).config


def complaint(*words, env=None) -> str:
    with pytest.raises(ConfigError) as raised:
        read_command_line(list(words), env or {})
    message = str(raised.value)
    assert "\n" not in message
    return message


def test_defaults_of_the_contract():
    found = config("--decoder", URL)
    timeouts = found.timeouts
    assert (found.host, found.port, found.min_prefill_tokens, found.max_queue) == ("127.0.0.1", 8000, 16, 256)
    assert (found.max_body, found.hold_back, found.kv_share, found.strict) == (64 * 1024 * 1024, 0, False, False)
    assert (timeouts.share, timeouts.descriptors, timeouts.provider, timeouts.restore) == (30, 2, 300, 60)
    assert (timeouts.first_byte, timeouts.stream, timeouts.drain) == (600, 60, 30)


def test_the_steps_deadlines_add_up_to_less_than_the_requests_own():
    t = config("--decoder", URL).timeouts
    assert 2 * t.share + t.share + t.share + t.descriptors + t.provider + t.restore + t.first_byte < t.request


def test_serve_is_what_is_done_without_a_command():
    assert read_command_line(["--decoder", URL], {}).command == "serve"
    assert read_command_line(["check-config", "--decoder", URL], {}).command == "check-config"


def test_hold_back_is_1_for_a_prefill_server_unless_told(tmp_path):
    prefill = ("--decoder", URL, "--prefill-url", "http://127.0.0.1:8081", "--slot-save-path", str(tmp_path))
    assert config(*prefill).hold_back == 1
    assert config(*prefill, "--hold-back", "0").hold_back == 0


@pytest.mark.parametrize(
    ("words", "env", "expected"),
    [
        ((), {}, False),
        ((), {"ONEBIT_KV_SHARE": "1"}, True),
        ((), {"ONEBIT_KV_SHARE": "0"}, False),
        (("--no-kv-share",), {"ONEBIT_KV_SHARE": "1"}, False),
        (("--kv-share",), {"ONEBIT_KV_SHARE": "0"}, True),
    ],
)
def test_a_flag_beats_the_environment(tmp_path, words, env, expected):
    found = config("--decoder", URL, "--provider", "cat", "--slot-save-path", str(tmp_path), *words, env=env)
    assert found.kv_share is expected


def test_several_decoders_in_one_flag_or_more():
    assert len(config("--decoder", URL, "http://b:1", "--decoder", "http://c:1").decoders) == 3


def test_arguments_behind_two_dashes_are_the_decoders():
    found = config("--llama-server", "sh", "-m", "model", "--", "--parallel", "2", "-c", "64")
    assert found.child.extra == ("--parallel", "2", "-c", "64")
    assert found.child.n_slots() == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--decodr", URL), "did you mean '--decoder'"),
        (("srve", "--decoder", URL), "did you mean 'serve'"),
        ((), "either --decoder URL or --llama-server"),
        (("--decoder", URL, "--llama-server", "sh", "-m", "x"), "not both"),
        (("--decoder", "127.0.0.1:8080"), "expected http://"),
        (("--decoder", "http://h:1/v1"), "nothing but the address"),
        (("--decoder", "http://u:p@h:1"), "nothing but the address"),
        (("--decoder", "http://h:99999"), "port"),
        (("--decoder", URL, URL), "twice"),
        (("--decoder", URL, "--port", "70000"), "not a port"),
        (("--decoder", URL, "--max-queue", "-1"), "whole number"),
        (("--decoder", URL, "--share-timeout", "0"), "above 0"),
        (("--decoder", URL, "--share-timeout", "nan"), "above 0"),
        (("--decoder", URL, "--hold-back", "2"), "hold-back"),
        (("--decoder", URL, "--kv-share"), "--kv-share needs"),
        (("--decoder", URL, "--strict"), "--strict needs"),
        (("--decoder", URL, "--provider", "cat"), "no route for its rows"),
        (("--decoder", URL, "--provider", "no-such-command", "--kv-share"), "no such command"),
        (("--decoder", URL, "--provider", "'", "--kv-share"), "quotation"),
        (("--decoder", URL, "--provider", "", "--kv-share"), "empty"),
        (("--decoder", URL, "--prefill-url", URL), "is also a --decoder"),
        (("--decoder", URL, "--prefill-url", "http://h:2"), "--slot-save-path"),
        (("--decoder", URL, "--slot-save-path", "/nowhere"), "not a directory"),
        (("--decoder", URL, "--api-key-file", "/nowhere"), "no readable file"),
        (("--decoder", URL, "--tls-cert", "/etc/hostname"), "belong together"),
        (("--decoder", URL, "-m", "x"), "-m needs"),
        (("--decoder", URL, "--", "-c", "1"), "need --llama-server"),
        (("--llama-server", "sh"), "needs -m"),
        (("--llama-server", "/no/such", "-m", "x"), "no such command"),
        (("--llama-server", "sh", "-m", "/no/such.gguf"), "no such file"),
        (("--llama-server", "sh", "-m", "x", "--", "--port", "1"), "the router's to give"),
        (("--llama-server", "sh", "-m", "x", "--", "--cache-ram", "8192"), "cache-ram"),
        (("--llama-server", "sh", "-m", "x", "--", "-np", "0"), "--parallel 0"),
    ],
)
def test_what_cannot_be_served_is_said_on_one_line(words, said):
    assert said in complaint(*words)


def test_a_variable_that_is_neither_is_refused():
    assert "ONEBIT_KV_SHARE=maybe" in complaint("--decoder", URL, env={"ONEBIT_KV_SHARE": "maybe"})
