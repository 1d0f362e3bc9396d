"""A native server that dies of its own weight repacking is started once more, and the report says so."""

import shlex
import sys

import pytest

from gates.commands import ROOT, ROUTER, kvgate, program

pytestmark = pytest.mark.real
SCENARIO = "scenarios/hybrid_e2e/state_file.yaml"


def test_a_server_that_needs_no_repack_is_named_in_the_report(tmp_path):
    fake = shlex.join([sys.executable, "-m", "fakes.decoder_server"])
    server = program(
        tmp_path,
        '[ "$1" = --version ] && { echo "version: 1 (native)"; exit 0; }\n'
        'case " $* " in *" --no-repack "*) ;; *) kill -ILL $$ ;; esac\n'
        'for word; do shift; [ "$word" = --no-repack ] || set -- "$@" "$word"; done\n'
        f'exec {fake} "$@"',
        "llama-server",
    )
    env = {"LLAMA_SERVER": server, "PYTHONPATH": str(ROOT)}
    ended = kvgate(
        "run", SCENARIO, "--router", ROUTER, "--model", "tiny-llama", "--runs", str(tmp_path / "runs"), **env
    )
    assert ended.status == 0, ended.out + ended.err
    assert ended.out.count("llama-server: died at load (signal 4), started with --no-repack") == 1
