"""What a proof runs, in which order, and what it takes over from an earlier time."""

from pathlib import Path

import pytest

from harness.proof.contenders import build_of
from harness.proof.crossing import BASE, Crossing
from harness.proof.mutant_jobs import MutantJobs, on_fakes
from harness.proof.mutants import Mutant, Replaces
from harness.proof.outcome_cache import OutcomeCache
from harness.proof.proof_queue import ProofQueue
from harness.result import CheckResult, ScenarioResult, Status
from harness.scenario import Kind
from harness.scenario_file import load

OK, FAIL, ERROR = Status.OK, Status.FAIL, Status.ERROR
SCENARIO = """
scenario: one
under_test: router
decoder: {faults: [kvshare-refuse]}
provider: {}
requests:
  - prompt: hello
checks:
  it is answered:
    reply: {status: 200}
"""
REAL = """
scenario: real
under_test: router
decoder: {real: true, model: smollm2-135m}
requests:
  - prompt: hello
checks:
  it is answered:
    reply: {status: 200}
"""


@pytest.fixture
def scenario(tmp_path: Path):
    folder = tmp_path / "suite"
    folder.mkdir()
    (folder / "one.yaml").write_text(SCENARIO)
    return load(folder / "one.yaml")


def mutant(name: str, **values) -> Mutant:
    return Mutant(name, Path(f"/src/{name}.py"), "x", ("suite",), **values)


@pytest.fixture
def queue_of(tmp_path, scenario):
    def make(*mutants: Mutant, ground: str = "ground", digests=None, full: bool = False) -> ProofQueue:
        good = {Kind.ROUTER: build_of(BASE, "true", kind=Kind.ROUTER)}
        jobs = MutantJobs(mutants, [scenario], good, tmp_path / "run", full)
        cache = OutcomeCache(tmp_path / "cache", ground)
        digests = digests or {"base router": "good"}
        return ProofQueue(jobs, Crossing(mutants), cache, digests, lambda result: None)

    return make


def answer(job, status: Status) -> ScenarioResult:
    name, scenario = job.build.name, job.scenario
    check = CheckResult(scenario.suite, scenario.name, "it is answered", name, status, "")
    return ScenarioResult(scenario.suite, scenario.name, name, (check,))


def drain(queue: ProofQueue, status_of=lambda name: OK if name == BASE else FAIL) -> list[str]:
    ran = []
    while (job := queue.next()) is not None:
        ran.append(job.build.name)
        queue.took(job, answer(job, status_of(job.build.name)))
    return ran


def test_the_good_build_is_first_and_mutants_wait_for_its_answer(queue_of):
    queue = queue_of(mutant("m"))
    base = queue.next()
    assert base is not None
    assert base.build.name == BASE
    assert queue.next() is None, "nothing is known of the good build yet"
    queue.took(base, answer(base, OK))
    following = queue.next()
    assert following is not None
    assert following.build.name == "m"


def test_every_mutant_runs_until_it_was_seen(queue_of):
    assert drain(queue_of(mutant("m"), mutant("n"))) == [BASE, "m", "n"]


def test_known_outcomes_are_taken_over(queue_of):
    drain(queue_of(mutant("m")))
    again = queue_of(mutant("m"))
    assert drain(again) == []
    assert again.known == 2
    assert again.crossing.reds == {("suite", "one", "it is answered"): ["m"]}


@pytest.mark.parametrize(
    "changed",
    [
        {"ground": "another harness"},
        {"digests": {"base router": "another build"}},
        {"digests": {"base router": "good", "m": "another mutant"}},
    ],
)
def test_what_depends_on_something_that_changed_is_run_again(queue_of, changed):
    drain(queue_of(mutant("m")))
    assert "m" in drain(queue_of(mutant("m"), **changed))


def test_a_changed_scenario_is_run_again(queue_of, scenario):
    drain(queue_of(mutant("m")))
    scenario.file.write_text(SCENARIO + "# another\n")
    assert drain(queue_of(mutant("m"))) == [BASE, "m"]


def test_an_error_is_never_kept(queue_of):
    drain(queue_of(mutant("m")), lambda name: ERROR)
    assert drain(queue_of(mutant("m")), lambda name: ERROR) == [BASE, "m"]


def test_a_damaged_outcome_is_run_again(queue_of, tmp_path):
    drain(queue_of(mutant("m")))
    for file in (tmp_path / "cache").iterdir():
        file.write_text("{")
    assert drain(queue_of(mutant("m"))) == [BASE, "m"]


def job_of(queue: ProofQueue, one: Mutant):
    return queue.jobs.job(one, queue.jobs.scenarios[0])


def test_a_mutant_of_the_router_is_started_in_its_place(queue_of):
    job = job_of(queue_of(), mutant("m"))
    assert job.build.command[1:] == ("-m", "m")
    assert job.build.env["PYTHONPATH"].split(":")[0] == "/src"
    assert job.options.stand_ins == ()


def test_a_mutant_of_a_fake_stands_in_for_it_under_the_good_router(queue_of):
    job = job_of(queue_of(), mutant("m", replaces=Replaces.DECODER))
    assert (job.build.name, job.build.command) == ("m", ("true",))
    ((part, words),) = job.options.stand_ins
    assert (part, words[-2:]) == ("decoder", ("-m", "m"))


def test_faults_of_a_mutant_come_on_top_of_the_scenarios(queue_of):
    job = job_of(queue_of(), mutant("m", decoder_faults=("restore-empty",), provider_faults=("provider-hang",)))
    assert job.scenario.decoder.faults == ("kvshare-refuse", "restore-empty")
    assert job.scenario.provider.faults == ("provider-hang",)
    assert job.build.command == ("true",)


def test_real_servers_are_replaced_by_fakes(tmp_path):
    (tmp_path / "real.yaml").write_text(REAL)
    assert on_fakes(load(tmp_path / "real.yaml")).needs_real is False


def test_only_the_full_cross_leaves_a_mutants_own_suites(queue_of):
    elsewhere = Mutant("m", Path("/src/m.py"), "x", ("another",))
    assert drain(queue_of(elsewhere)) == [BASE]
    assert drain(queue_of(elsewhere, full=True, ground="g2")) == [BASE, "m"]


def test_a_mutant_of_one_scenario_is_run_before_one_that_is_meant_for_the_whole_suite(tmp_path, scenario):
    (tmp_path / "suite" / "two.yaml").write_text(SCENARIO)
    scenarios = [scenario, load(tmp_path / "suite" / "two.yaml")]
    narrow = Mutant("narrow", Path("/src/narrow.py"), "x", ("suite/two",))
    jobs = MutantJobs((mutant("broad"), narrow), scenarios, {}, tmp_path / "run", full=False)
    found = [(each.name, met.name) for each, met in jobs.pairs()]
    assert found == [("narrow", "two"), ("broad", "one"), ("broad", "two")]
