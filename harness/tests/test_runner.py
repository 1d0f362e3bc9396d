"""The command that a FAIL is printed with: whoever runs it gets the run that failed."""

import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from harness import profiles
from harness.commands import run as run_command
from harness.commands.parser import Parser
from harness.plan import Options
from harness.profiles import KVGATE_ROUTER, Build
from harness.runner import rerun_command
from harness.selection import select

BUILD = Build("build", ("my router", "--fast"), KVGATE_ROUTER)
EXAMPLE = Path("examples/1bit/1bit.yaml")


@pytest.fixture(scope="module")
def scenario():
    return select(["hybrid_kvshare_route/short"])[0]


def parsed(command: str):
    words = shlex.split(command)
    assert words[:2] == ["kvgate", "run"]
    parser = Parser("kvgate run")
    run_command.add_arguments(parser)
    return parser.checked(words[2:])


def test_the_build_goes_by_its_command_alone(scenario):
    again = parsed(rerun_command(scenario, BUILD))
    assert again.scenarios == [str(scenario.file)]
    assert shlex.split(again.router) == ["my router", "--fast"]
    assert again.profile is None
    assert not again.real


def test_its_own_environment_goes_before_the_command(scenario):
    again = parsed(rerun_command(scenario, replace(BUILD, env={"A": "b c"})))
    assert shlex.split(again.router) == ["env", "A=b c", "my router", "--fast"]


def test_a_profile_that_was_read_from_a_file_is_named_in_full(scenario):
    build = replace(BUILD, profile=profiles.named(str(EXAMPLE)))
    assert parsed(rerun_command(scenario, build)).profile == str(EXAMPLE.absolute())


def test_what_was_asked_for_on_top_is_asked_for_again(scenario):
    options = Options(model="tiny-qwen3", decoder_args=("--threads", "1"), real=True, ready_s=90.0)
    again = parsed(rerun_command(scenario, BUILD, options))
    assert run_command._options(again) == options
