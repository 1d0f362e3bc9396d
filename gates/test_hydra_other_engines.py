"""An engine that writes no journal, as other people's do: what a client can see is judged, the rest is no verdict."""

import json
import sys

import pytest

from gates.commands import kvgate, program

COUNTED = "v2, the engine that decodes counts one evaluated prompt token and no second prefill"
SEEN_BY_A_CLIENT = {
    "v2, DECODE is accepted and its result is a reply",
    "v2, the slot stands at n_past 29 or more within half a second",
    "v2, one prompt token is evaluated and 29 are cached",
    COUNTED,
    "v2, the reply is there within half a second, a quarter of what a second prefill takes",
    "v2, the reply is the plain run's, token by token",
}
OF_THE_TOKEN_LIST = {
    "v2, the slot stands at n_past 29 or more within half a second",
    "v2, one prompt token is evaluated and 29 are cached",
    COUNTED,
    "v2, the reply is there within half a second, a quarter of what a second prefill takes",
}
PROFILE = """
profile: uncounted
kind: engine
ready: {line: 'listening on (?P<url>http://\\S+) \\(RPC on (?P<rpc>\\S+)\\)'}
argv: [-m, "{model}", --port, "0", --rpc-port, "0", --parallel, "{slots}"]
"""


def judged(folder, module, *more):
    engine = program(folder, f'unset FAKE_JOURNAL\nexec {sys.executable} -m {module} "$@"')
    told = folder / "run.json"
    words = ["run", "scenarios/hydra_decode_apply/v2.yaml", "--engine", engine, "--json", str(told), *more]
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


@pytest.mark.xdist_group("hydra_other_engines")
def test_an_engine_that_prefills_again_and_tells_of_it_in_no_answer_is_red_by_its_counter(tmp_path):
    status, checks = judged(tmp_path, "gates.mutants.engine_prefills_again")
    assert status == 1
    assert checks["v2, one prompt token is evaluated and 29 are cached"] == "ok"
    assert checks[COUNTED] == "FAIL"


@pytest.mark.xdist_group("hydra_other_engines")
def test_an_engine_that_does_not_count_is_not_seen_to_have_prefilled_nothing(tmp_path):
    profile = tmp_path / "uncounted.yaml"
    profile.write_text(PROFILE)
    status, checks = judged(tmp_path, "fakes.engine_server", "--profile", str(profile), "--check", COUNTED)
    assert (status, checks) == (3, {COUNTED: "ERROR"})
    (check,) = json.loads((tmp_path / "run.json").read_text())["checks"]
    assert "/metrics answered 501" in check["detail"]
