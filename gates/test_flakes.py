"""A check that is red now and then is remembered, and a rerun that happens to be ok says so."""

from gates.commands import ROOT, ROUTER, kvgate, python_router

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


def test_a_check_that_was_known_to_be_red_and_holds_is_no_flake(tmp_path):
    env = {"KVGATE_HISTORY": str(tmp_path / "history.sqlite")}
    path = tmp_path / "short.yaml"
    plain = (ROOT / SCENARIO).read_text()
    path.write_text(f"{plain}known_red: claims are not read yet\n")
    known = kvgate("run", str(path), "--router", ROUTER, "--runs", str(tmp_path / "runs"), **env)
    assert known.status == 1
    assert "and nothing is: take" in " ".join(known.out.split())
    # An A/B judges the same file without its `known_red`.
    compared = kvgate("ab", "--old", ROUTER, "--new", ROUTER, str(path), "--runs", str(tmp_path / "runs"), **env)
    assert (compared.status, "flaky" in compared.out) == (4, False), compared.out
    assert kvgate("flakes", **env).status == 0


def test_a_history_that_was_named_and_is_not_there_is_said(tmp_path):
    told = kvgate("flakes", "--history", str(tmp_path / "nowhere"))
    assert (told.status, told.out) == (3, "")
    assert "there is no such file" in told.err
