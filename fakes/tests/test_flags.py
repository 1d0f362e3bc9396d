"""llama-server's command line, and what a toy model is."""

import re

import pytest

from fakes.flags import FLAGS, FlagError, help_text, parse_flags
from fakes.machine import shape_of
from fakes.spec import Kind, ModelSpec, SpecError, parse_spec
from fakes.tests.stage import Stage


def test_the_flags_a_router_uses():
    words = ["-m", "toy", "--host", "0.0.0.0", "--port", "9", "-np", "2", "-c", "512", "--cache-ram", "0"]
    silent = ["-ngl", "99", "-fa", "on", "--no-webui", "-t", "4", "--jinja"]
    options = parse_flags([*words, *silent, "--fault", "a=1", "--fault", "b"], {})
    assert (options.host, options.port, options.parallel, options.ctx_size) == ("0.0.0.0", 9, 2, 512)
    assert (options.cache_ram, options.faults) == (0, ("a=1", "b"))


def test_underscores_are_hyphens_in_long_names():
    assert parse_flags(["--ctx_size", "512"], {}).ctx_size == 512


def test_the_command_line_beats_the_environment():
    environ = {"LLAMA_ARG_PORT": "9", "LLAMA_ARG_N_PARALLEL": "3", "LLAMA_ARG_ENDPOINT_METRICS": "1"}
    options = parse_flags(["--port", "10"], environ)
    assert (options.port, options.parallel, options.metrics) == (10, 3, True)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--frobnicate"], "error: invalid argument: --frobnicate"),
        (["--port=1"], "error: invalid argument: --port=1"),
        (["model.gguf"], "error: invalid argument: model.gguf"),
        (["--port"], 'error while handling argument "--port": expected value for argument'),
        (["--port", "x"], 'error while handling argument "--port": stoi'),
        (["--port", "70000"], 'error while handling argument "--port"'),
        (["-c", "-1"], 'error while handling argument "-c"'),
        (["--slot-save-path", "/no/such"], "not a directory: /no/such"),
        (["-ctk", "q9"], "Unsupported cache type: q9"),
        (["--decode-tps", "-1"], 'error while handling argument "--decode-tps"'),
        (["--api-key-file", "/no/such"], "failed to open file '/no/such'"),
    ],
)
def test_a_wrong_command_line_is_refused_with_the_servers_text(words, text):
    with pytest.raises(FlagError, match=re.escape(text)):
        parse_flags(words, {})


def test_the_save_path_gets_its_slash_and_keys_come_from_a_file(tmp_path):
    keys = tmp_path / "keys"
    keys.write_text("one\n\ntwo\n")
    options = parse_flags(["--slot-save-path", str(tmp_path), "--api-key-file", str(keys)], {})
    assert (options.slot_save_path, options.api_keys) == (f"{tmp_path}/", ("one", "two"))


def test_no_flag_is_there_twice():
    names = [name for flag in FLAGS for name in flag.names]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("argv", "shape"),
    [
        (["-np", "2", "-c", "2048"], (2, 1024, False, 2)),
        (["-np", "2", "-c", "32"], (2, 256, False, 2)),
        (["-np", "3", "-c", "1000"], (3, 512, False, 3)),
        (["-c", "2048"], (4, 2048, True, 1)),
        (["-np", "2", "-c", "2048", "-kvu"], (2, 2048, True, 1)),
        ([], (4, 4096, True, 1)),
    ],
)
def test_how_the_context_is_cut(argv, shape):
    found = shape_of(parse_flags(argv, {}), ModelSpec())
    assert (found.n_slots, found.n_ctx_slot, found.unified, found.n_stream) == shape


def test_a_toy_spec():
    assert parse_spec("toy") == ModelSpec()
    assert parse_spec("toy:seed=7,layers=4,kind=hybrid") == ModelSpec(seed=7, layers=4, kind=Kind.HYBRID)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("toy:lyers=2", "no 'lyers'; did you mean layers"),
        ("toy:layers=x", "layers=x: not a whole number"),
        ("toy:layers=0", "layers=0, allowed are 1 to 256"),
        ("toy:kind=wet", "kind=wet: known are dense, hybrid"),
        ("/no/such.gguf", "failed to open GGUF file '/no/such.gguf'"),
    ],
)
def test_a_bad_spec_says_why(text, why):
    with pytest.raises(SpecError, match=re.escape(why)):
        parse_spec(text)


def test_a_real_file_seeds_the_toy_and_anything_else_is_refused(tmp_path):
    one, two, junk = tmp_path / "one.gguf", tmp_path / "two.gguf", tmp_path / "junk.gguf"
    one.write_bytes(b"GGUF\3\0\0\0one")
    two.write_bytes(b"GGUF\3\0\0\0two")
    junk.write_bytes(b"\x7fELF")
    assert parse_spec(str(one)).seed != parse_spec(str(two)).seed
    assert parse_spec(str(one)) == parse_spec(str(one))
    with pytest.raises(SpecError, match="invalid magic characters"):
        parse_spec(str(junk))


@pytest.mark.parametrize("version", ["11434", "bee", "b1", "b", "latest"])
def test_a_build_that_cannot_be_is_refused(version):
    with pytest.raises(FlagError, match="expected b and a number from 10566 on"):
        parse_flags(["--fake-version", version], {})


def test_help_has_every_flag_and_the_variable_that_sets_it():
    text = help_text()
    for flag in FLAGS:
        assert f"  {', '.join(flag.names)}" in text
        assert flag.env is None or f"(env: {flag.env})" in text
    assert text.index("the fake's own") < text.index("--fault") < text.index("without effect") < text.index("--mlock")


def test_what_changes_nothing_is_said_to_change_nothing():
    ignored = help_text().partition("without effect")[2]
    for flag in FLAGS:
        assert (f"  {', '.join(flag.names)}" in ignored) is (flag.into is None)


def test_defaults_of_sampling_show_in_props():
    flags = ("--top-k", "7", "--top-p", "0.5", "--min-p", "0.25", "--repeat-penalty", "1.5", "--temp", "2")
    params = Stage(*flags).get("/props")[1]["default_generation_settings"]["params"]
    expected = {"top_k": 7, "top_p": 0.5, "min_p": 0.25, "repeat_penalty": 1.5, "temperature": 2.0}
    assert params.items() >= expected.items()
    answer = Stage(*flags).complete([400], 1, top_k=9, top_p=0.75)
    assert answer["generation_settings"].items() >= {"top_k": 9, "top_p": 0.75, "min_p": 0.25}.items()
