"""What a person can get wrong: one clear line and the documented exit status, never a traceback."""

import subprocess
import sys

import pytest

from gates.commands import ROOT, ROUTER, kvgate, program

SHORT = "scenarios/hybrid_route/short_prompt.yaml"

SCENARIO = """\
scenario: a claim
under_test: router
provider: {}
requests:
  - {prompt: {tokens: 30}}
checks:
  it is answered:
    reply: {status: 200}
"""

FILES = {
    "an unknown key": ("provider:", "provder:", "one.yaml:3: provder: unknown key; did you mean 'provider'?"),
    "an unknown fault": ("{}", "{faults: [kvshare-shrt]}",
                         "one.yaml:3: provider.faults.0: unknown fault 'kvshare-shrt'; did you mean 'kvshare-short'?"),
    "a wrong type": ("tokens: 30", "tokens: many",
                     "one.yaml:5: requests.0.prompt.tokens: expected a whole number, found the text 'many'"),
    "an absence without witness": ("reply: {status: 200}", "absent: {log.contains: x}",
                                   "one.yaml:8: checks.it is answered: an absence needs a `witness`"),
    "an empty check": ("reply: {status: 200}", "{}", "one.yaml:8: checks.it is answered: the check is empty"),
    "no checks": ("  it is answered:\n    reply: {status: 200}\n", "  {}\n", "one.yaml:7: checks: there are no checks"),
}  # fmt: skip


@pytest.mark.parametrize("what", FILES)
def test_a_bad_scenario_file(tmp_path, what):
    old, new, told = FILES[what]
    assert old in SCENARIO
    path = tmp_path / "one.yaml"
    path.write_text(SCENARIO.replace(old, new, 1))
    ended = kvgate("run", str(path), "--router", ROUTER)
    assert ended.status == 2
    assert told in ended.err
    assert ended.err.count("\n") == 1
    assert ended.out == ""


WORDS = {
    "a file that is not there": (["run", "scenarios/hybrid_route/god.yaml", "--router", ROUTER], "no such scenario"),
    "a suite that is not there": (["run", "hybrid_rout", "--router", ROUTER], "did you mean 'hybrid_route'"),
    "no build": (["run", "hybrid_route"], "there is no build to test"),
    "a router that does not exist": (["run", "hybrid_route", "--router", "/nowhere/router"], "no such command"),
    "an old build that does not exist": (
        ["ab", "--old", "./no-such-build", "--new", ROUTER, "hybrid_route"],
        "--old: no such command: ./no-such-build",
    ),
    "a build of a matrix that does not exist": (
        ["matrix", f"base={ROUTER}", "fix=no-such-build", "hybrid_route"],
        "fix: no such command: no-such-build",
    ),
    "scenarios where checks are wanted": (
        ["ab", "--old", ROUTER, "--new", ROUTER, "--expect-red", "a check", "scenarios/hybrid_route"],
        "scenarios/hybrid_route is no check; name the scenarios in front of --expect-red",
    ),
    "scenarios of two kinds": (["ab", "--old", ROUTER, "--new", ROUTER], "an engine (scenarios/hydra_"),
    "a profile of another kind for both sides": (
        ["ab", "--old", ROUTER, "--new", ROUTER, "--profile", "engine", "hybrid_route"],
        "starts an engine",
    ),
    "an empty command": (["run", "hybrid_route", "--router", ""], "an empty command"),
    "an unknown flag": (["run", "--ruoter", "x"], "unknown argument --ruoter; did you mean '--router'"),
    "an unknown check": (["run", "hybrid_route", "--router", ROUTER, "--check", "x"], "no check is called 'x'"),
    "a decoder that is nearly a name": (["run", "slot_api", "--decoder", "xllamacp"], "did you mean 'xllamacpp'?"),
    "a file that is no program": (["run", "slot_api", "--decoder", "/etc/passwd"], "no executable file: /etc/passwd"),
    "decoders without their build": (["run", "slot_api"], "puts a router under test but a decoder: say --decoder CMD"),
    "an unknown command": (["rum"], "no such command: rum; did you mean 'run'?"),
    "an unknown fake": (["fake", "decodr"], "did you mean 'decoder'?"),
    "a build of the other kind": (["run", "hybrid_route", "--decoder", "x"], "puts a decoder under test"),
    "a profile that is not there": (["run", "hybrid_route", "--router", ROUTER, "--profile", "x"], "no such profile"),
    "an unknown model": (["models", "fetch", "smolm2-135m"], "smollm2-135m"),
}


@pytest.mark.parametrize("what", WORDS)
def test_bad_words(what):
    words, told = WORDS[what]
    ended = kvgate(*words)
    assert ended.status == 2
    assert told in ended.err
    assert ended.err.count("\n") == 1


BUILDS = {
    "dies at once": ("echo it is broken >&2; exit 3", 3, "exited with status 3 before it was ready"),
    "is killed at once": ("kill -SEGV $$", 3, "was killed by SIGSEGV before it was ready"),
    "never listens": ("exec sleep 600", 3, "waited 1 s for the build"),
    "prints megabytes and dies": ("head -c 20000000 /dev/zero | tr '\\0' x; exit 1", 3, "exited with status 1"),
    "prints for ever": ("exec yes", 3, "waited 1 s for the build"),
}


@pytest.mark.parametrize("what", BUILDS)
def test_a_build_that_is_never_ready(tmp_path, what):
    text, status, told = BUILDS[what]
    build = program(tmp_path, text)
    runs = ["--runs", str(tmp_path / "runs")]
    ended = kvgate("run", "scenarios/hybrid_route/short_prompt.yaml", "--router", build, "--ready-timeout", "1", *runs)
    assert ended.status == status
    assert told in " ".join(ended.out.split())
    assert "Traceback" not in ended.out + ended.err
    assert "error:" in ended.out.splitlines()[-1]
    assert "4 ERROR" in ended.out.splitlines()[-1]


MODELS = {
    "missing": (None, "model.gguf: No such file or directory"),
    "damaged": (b"GGUF" + bytes(8), "model.gguf: GGUF version 0 is not one of"),
    "something else": (b"not a model", "model.gguf: not a GGUF file"),
}


@pytest.mark.parametrize("what", MODELS)
def test_a_model_that_cannot_be_used(tmp_path, what):
    content, told = MODELS[what]
    path = tmp_path / "model.gguf"
    if content is not None:
        path.write_bytes(content)
    scenario = "scenarios/hybrid_route/short_prompt.yaml"
    ended = kvgate("run", scenario, "--router", ROUTER, "--model", str(path))
    assert ended.status == 3
    assert told in ended.err
    assert ended.err.count("\n") == 1


def test_a_toy_spec_that_the_decoder_refuses_is_no_finding_about_the_router(tmp_path):
    scenario = "scenarios/hybrid_route/short_prompt.yaml"
    runs = ["--runs", str(tmp_path / "runs")]
    ended = kvgate("run", scenario, "--router", ROUTER, "--model", "toy:nonsense=1", *runs)
    assert ended.status == 3
    assert "exited with status 1 before it was ready" in " ".join(ended.out.split())
    assert "4 ERROR" in ended.out.splitlines()[-1]


OUTPUTS = {
    "kvgate": (sys.executable, "-m", "harness.cli", "schema"),
    "kvgate, of the fakes": (sys.executable, "-m", "harness.cli", "faults"),
    "kvgate, after a run": (sys.executable, "-m", "harness.cli", "run", SHORT, "--router", ROUTER, "--json", "-",
                            "--quiet"),
    "kvgate-router": (ROUTER, "check-config", "--decoder", "http://127.0.0.1:9"),
}  # fmt: skip


@pytest.mark.parametrize("who", OUTPUTS)
def test_an_output_that_is_full_is_one_line_and_no_finding(who):
    with open("/dev/full", "wb") as full:
        done = subprocess.run(OUTPUTS[who], cwd=ROOT, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == (1 if who == "kvgate-router" else 3)
    assert "cannot be written: No space left on device" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("who", OUTPUTS)
def test_an_output_that_is_closed_is_not_missed(who):
    words = ("sh", "-c", '"$@" >&-', "sh", *OUTPUTS[who])
    done = subprocess.run(words, cwd=ROOT, stderr=subprocess.PIPE, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_doctor_fetches_nothing(tmp_path):
    env = {"XDG_CACHE_HOME": str(tmp_path), "LLAMA_SERVER": "", "PATH": "/usr/bin:/bin"}
    told = kvgate("doctor", **env).out
    assert "none is installed" in told
    assert "LLAMA_SERVER" in told
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_held_run_writes_no_replay_and_says_so(tmp_path):
    ended = kvgate("repro", SHORT, "--router", ROUTER, "--hold", "decoder.share-reply", "--out", str(tmp_path / "out"))
    assert ended.status == 2
    assert "--out is where a replay is written" in ended.err
    assert not (tmp_path / "out").exists()
