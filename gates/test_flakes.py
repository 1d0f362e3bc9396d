"""A check that is red now and then is remembered, and a rerun that happens to be ok says so."""

from gates.commands import ROOT, kvgate, python_router

SCENARIO = "scenarios/hybrid_kvshare_route/short.yaml"
CHECK = "a short claim is named"


def test_a_rerun_never_turns_a_fail_into_ok_in_silence(tmp_path):
    red_once = (
        f"if '--version' not in sys.argv and not os.path.exists(turn := {str(tmp_path / 'turn')!r}):\n"
        "    os.mkdir(turn)\n"
        "    os.execv(sys.executable, [sys.executable, '-m', 'gates.mutants.claim_half', *sys.argv[1:]])"
    )
    build = python_router(tmp_path, red_once)
    env = {"KVGATE_HISTORY": str(tmp_path / "history.sqlite"), "PYTHONPATH": str(ROOT)}

    def run():
        return kvgate("run", SCENARIO, "--router", build, "--check", CHECK, "--runs", str(tmp_path / "runs"), **env)

    assert kvgate("flakes", **env).status == 0
    first = run()
    assert (first.status, "flaky" in first.out) == (1, False), first.out
    second = run()
    assert second.status == 0, second.out
    assert f"flaky on this same build: {CHECK}" in second.out.replace("\n", " ")
    told = kvgate("flakes", **env)
    assert told.status == 1
    assert "1 of 2" in told.out
    assert kvgate("flakes", "another_suite", **env).status == 0
    assert kvgate("flakes", "--forget", **env).out.startswith("forgot 2 outcomes")
    assert kvgate("flakes", **env).status == 0
