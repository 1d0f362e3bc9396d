"""kvgate for a router of another make: installed from its wheel in a venv of its own, used from that router's place."""

import json
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from xml.etree import ElementTree

import pytest

from gates.commands import AT_MOST_S, ROOT

pytestmark = pytest.mark.xdist_group("wheel")
EXAMPLE = ROOT / "examples" / "other-router"
PACKAGES = ("wire", "fakes", "router", "harness", "reports", "gates", "scenarios")


@pytest.fixture(scope="module")
def bin_of_its_own(tmp_path_factory):
    """The venv's commands. Third-party packages are those of this environment; kvgate itself is the wheel's."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    for package in PACKAGES:
        shutil.copytree(ROOT / package, source / package, ignore=shutil.ignore_patterns("__pycache__"))
    for file in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / file, source)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    build = ["wheel", "--no-deps", "--no-index", "--no-build-isolation", "-w", str(folder), str(source)]
    subprocess.run([*pip, *build], check=True, timeout=AT_MOST_S, capture_output=True)
    (wheel,) = folder.glob("kvgate-*.whl")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder / "venv")], check=True, timeout=AT_MOST_S)
    python = folder / "venv" / "bin" / "python"
    subprocess.run([*pip, "--python", str(python), "install", "--no-deps", "--no-index", str(wheel)], check=True)
    (site,) = (folder / "venv" / "lib").glob("python*/site-packages")
    (site / "third-party.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python.parent


@pytest.fixture
def here(bin_of_its_own, tmp_path):
    """Another router's folder, far from kvgate's sources, and kvgate as it is typed there."""
    folder = tmp_path / "their-repository"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    return Here(folder, bin_of_its_own)


class Here:
    def __init__(self, folder, commands):
        self.folder, self.commands = folder, commands
        self.router = shlex.join([str(commands / "python"), "router.py"])

    def kvgate(self, *words):
        env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYTEST", "KVGATE"))}
        env |= {"PATH": f"{self.commands}:{env['PATH']}", "TMPDIR": str(self.folder.parent), "XDG_CACHE_HOME": "cache"}
        env |= {"PYTHONDONTWRITEBYTECODE": "1"}
        return subprocess.run(
            [str(self.commands / "kvgate"), *words],
            cwd=self.folder, env=env, capture_output=True, text=True, timeout=AT_MOST_S,
        )  # fmt: skip

    def theirs(self, command, *words):
        build = ("--router", self.router, "--profile", "./other-router.yaml")
        return self.kvgate(command, "./kv-scenarios", *build, *words)


def test_the_wheel_holds_suites_and_schema(here):
    listed = here.kvgate("run", "hybrid_kvshare_route", "--list")
    assert listed.stdout.splitlines()[-1] == "33 checks", listed.stderr
    schema = json.loads(here.kvgate("schema").stdout)
    assert schema["$id"] == "urn:kvgate:scenario:1"
    where = subprocess.run(
        [str(here.commands / "python"), "-c", "import harness; print(harness.__file__)"],
        cwd=here.folder, capture_output=True, text=True,
    )  # fmt: skip
    assert str(here.commands.parent) in where.stdout


def test_their_router_is_gated_by_their_own_scenarios(here):
    run = here.theirs("run", "--json", "run.json")
    assert run.returncode == 0, run.stdout + run.stderr
    assert len(json.loads((here.folder / "run.json").read_text())["checks"]) == 8


def test_the_planted_bug_is_seen_and_its_fix_is_proven(here):
    bug = shlex.join([str(here.commands / "python"), "mutants/believes_the_prefill.py"])
    profile = ("--profile", "other-router.yaml")
    ab = here.kvgate("ab", "./kv-scenarios", "--old", bug, "--new", here.router, *profile, "--json", "ab.json")
    assert ab.returncode == 0, ab.stdout + ab.stderr
    red = {
        each["check"]
        for each in json.loads((here.folder / "ab.json").read_text())["checks"]
        if each["status"] == "FAIL"
    }
    assert "a short state file is not restored" in red
    assert "its reply is the plain run's" not in red


def test_their_mutants_prove_their_checks(here):
    proof = here.theirs("prove", "--mutants", "mutants", "-n", "2")
    assert proof.returncode == 0, proof.stdout + proof.stderr
    assert "8 proven" in proof.stdout


def test_the_same_under_pytest_one_item_a_check(here):
    done = here.theirs("pytest", "--", "-n", "2", "--junitxml=kv.xml", "-q")
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(ElementTree.parse(here.folder / "kv.xml").findall(".//testcase")) == 8


def test_a_new_suite_is_green_and_known_to_go_red(here):
    made = here.kvgate("new", "suite", "first", "--in", "gates")
    assert made.returncode == 0, made.stderr
    assert "wrote gates/first/handed_over.yaml" in made.stdout
    build = ("--router", here.router, "--profile", "other-router.yaml")
    run = here.kvgate("run", "gates/first", *build)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "see it go red:     kvgate prove gates/first " in made.stdout
    proof = here.kvgate("prove", "gates/first", *build, "--mutants", "gates/mutants", "--json", "p.json")
    told = json.loads((here.folder / "p.json").read_text())
    assert proof.returncode == 0, proof.stdout
    assert {each["verdict"] for each in told["comparisons"]} == {"proven"}
    assert len(told["comparisons"]) == 5
    again = here.kvgate("new", "suite", "first", "--in", "gates")
    assert (again.returncode, again.stderr.count("\n")) == (2, 1)


def test_what_is_mistyped_is_one_line(here):
    for words, problem in (
        (("run", "./kv-scenarios", "--router", here.router, "--profile", "other-ruoter.yaml"), "no such profile"),
        (("pytest", "./kv-scenario", "--router", here.router), "no such scenario file, folder or suite"),
        (("pytest", "--ruoter", "x"), "did you mean '--router'"),
    ):
        done = here.kvgate(*words)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
        assert problem in done.stderr


def test_the_examples_profiles_can_be_read():
    from harness.profiles import load

    assert {load(path).name for path in (ROOT / "examples").rglob("*router.yaml")} == {"other-router"}
    assert load(Path(ROOT / "examples" / "1bit" / "1bit.yaml")).name == "1bit-hybrid"
