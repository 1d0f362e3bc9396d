"""The launcher's reading of llama-server's flags, without the wheel."""

from types import SimpleNamespace
from typing import Any

import pytest

from harness.real import launcher


def params(**fields: Any) -> SimpleNamespace:
    return SimpleNamespace(model=SimpleNamespace(path=""), **fields)


def settled(words: list[str], **fields: Any) -> SimpleNamespace:
    target = params(**fields)
    for name, flag, value in launcher.parse(words):
        launcher.apply(target, name, flag, value)
    return target


def test_flags_become_settings() -> None:
    done = settled(["-m", "a b.gguf", "-c", "2048", "--swa-full"], n_ctx=0, swa_full=False)
    assert (done.model.path, done.n_ctx, done.swa_full) == ("a b.gguf", 2048, True)


def test_an_underscore_in_a_long_name_is_a_dash() -> None:
    assert settled(["--cache_ram", "0"], cache_ram_mib=8192).cache_ram_mib == 0


def test_the_last_of_two_wins() -> None:
    assert settled(["--no-slots", "--slots"], endpoint_slots=None).endpoint_slots is True


def test_one_host_name_where_the_version_takes_one() -> None:
    assert settled(["--host", "::1"], hostname="127.0.0.1").hostname == "::1"


def test_a_list_of_host_names_where_the_version_takes_a_list() -> None:
    assert settled(["--host", "a,b"], hostnames=["127.0.0.1"]).hostnames == ["a", "b"]


def test_both_fields_of_one_flag_are_set() -> None:
    done = settled(["--timeout", "5"], timeout_read=0, timeout_write=0)
    assert (done.timeout_read, done.timeout_write) == (5, 5)


def test_the_save_folder_ends_in_a_slash(tmp_path: Any) -> None:
    assert settled(["--slot-save-path", str(tmp_path)], slot_save_path="").slot_save_path == f"{tmp_path}/"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--frobnicate"], "error: invalid argument: --frobnicate"),
        (["--port=1"], "error: invalid argument: --port=1"),
        (["stray"], "error: invalid argument: stray"),
        (["--port"], 'error while handling argument "--port": expected value for argument'),
        (["--port", "x"], 'error while handling argument "--port": not a whole number: x'),
        (
            ["--slot-save-path", "/nowhere"],
            'error while handling argument "--slot-save-path": not a directory: /nowhere',
        ),
    ],
)
def test_a_bad_command_line_is_refused_as_llama_server_does(words: list[str], said: str) -> None:
    with pytest.raises(launcher.BadArgument) as refused:
        launcher.parse(words)
    assert str(refused.value) == said


def test_no_flag_is_in_the_table_twice() -> None:
    names = [name for flag in (*launcher.OPTIONS, *launcher.SWITCHES) for name in flag.names]
    assert len(names) == len(set(names))
