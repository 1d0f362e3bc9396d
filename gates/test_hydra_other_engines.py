"""An engine that writes no journal, as other people's do: what a client can see is judged, the rest is no verdict."""

import json
import sys

import pytest

from gates.commands import kvgate, program

SEEN_BY_A_CLIENT = {
    "v2, DECODE is accepted and its result is a reply",
    "v2, the slot stands at n_past 29 or more within half a second",
    "v2, one prompt token is evaluated and 29 are cached",
    "v2, the reply is there within half a second, a quarter of what a second prefill takes",
    "v2, the reply is the plain run's, token by token",
}
OF_THE_TOKEN_LIST = {
    "v2, the slot stands at n_past 29 or more within half a second",
    "v2, one prompt token is evaluated and 29 are cached",
    "v2, the reply is there within half a second, a quarter of what a second prefill takes",
}


def judged(folder, module):
    engine = program(folder, f'unset FAKE_JOURNAL\nexec {sys.executable} -m {module} "$@"')
    told = folder / "run.json"
    words = ["run", "scenarios/hydra_decode_apply/v2.yaml", "--engine", engine, "--json", str(told)]
    ended = kvgate(*words, "--runs", str(folder), "--quiet")
    checks = {check["check"]: check["status"] for check in json.loads(told.read_text())["checks"]}
    return ended.status, checks


@pytest.mark.xdist_group("hydra_other_engines")
def test_a_good_engine_is_ok_on_what_a_client_sees_and_on_nothing_else(tmp_path):
    status, checks = judged(tmp_path, "fakes.engine_server")
    assert status == 3, "what could not be observed is no success"
    assert {name for name, status in checks.items() if status == "ok"} == SEEN_BY_A_CLIENT
    assert {status for name, status in checks.items() if name not in SEEN_BY_A_CLIENT} == {"ERROR"}


@pytest.mark.xdist_group("hydra_other_engines")
def test_an_engine_that_forgets_the_token_list_is_red_without_its_journal(tmp_path):
    status, checks = judged(tmp_path, "gates.mutants.tokens_not_restored")
    assert status == 1
    assert {name for name, status in checks.items() if status == "FAIL"} == OF_THE_TOKEN_LIST
