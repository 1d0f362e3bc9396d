"""Whoever is killed, nothing that was started outlives it, not even what went away with `setsid`."""

import asyncio
import os
import re
import secrets
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gates.commands import ROOT, ROUTER, python_router
from harness.deadline import until
from harness.plan import Options, decoder_wrapper
from harness.processes import Guardian

AT_MOST_S = 30.0

HANGING = """\
scenario: a provider that hangs
under_test: router
provider: {faults: [provider-hang]}
requests:
  - {prompt: {tokens: 30}}
checks:
  it is answered:
    reply: {status: 200}
"""


def marked(mark):
    """Every living process that inherited the mark."""
    found = {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            environment, state = (folder / "environ").read_bytes(), (folder / "stat").read_text().rpartition(")")[2]
            command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        if mark.encode() in environment and state.split()[0] not in "ZX":
            found[int(folder.name)] = command.strip()
    return found


def waited(what, holds):
    async def asked():
        return holds()

    return asyncio.run(until(AT_MOST_S, what, asked))


@pytest.fixture
def harness(tmp_path):
    """kvgate in the middle of a request that hangs, with a build whose grandchild has called setsid."""
    (tmp_path / "hanging.yaml").write_text(HANGING)
    grandchild = "import subprocess; subprocess.Popen(['setsid', '--fork', 'sleep', '600'])"
    words = ["run", str(tmp_path / "hanging.yaml"), "--router", python_router(tmp_path, grandchild)]
    mark = f"MARK_{secrets.token_hex(8)}"
    process = subprocess.Popen(
        [sys.executable, "-m", "harness.cli", *words, "--runs", str(tmp_path / "runs")],
        cwd=ROOT, env={**os.environ, mark: "1"}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    try:
        waited("the provider to have started", lambda: list((tmp_path / "runs").rglob("provider.jsonl")) or None)
        yield process, mark
    finally:
        process.kill()
        process.communicate()


def test_sigkill_of_the_harness_ends_everything_it_started(harness):
    process, mark = harness
    started = marked(mark)
    assert [command for command in started.values() if command == "sleep 600"], started
    for part in ("kvgate-router", "fakes.warm", "fakes.provider", "guardian.py"):
        assert any(part in command for command in started.values()), (part, started)
    scratch = {match[0] for command in started.values() if (match := re.search(r"\S*/kvg-\w+", command))}
    assert scratch
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    waited("everything to have ended", lambda: None if marked(mark) else True)
    waited("the scratch folder to be gone", lambda: None if any(map(os.path.exists, scratch)) else True)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_harness_ends_everything_and_keeps_what_it_saw(harness, number):
    process, mark = harness
    os.kill(process.pid, number)
    out, err = process.communicate(timeout=60)
    assert marked(mark) == {}
    assert "Traceback" not in out + err
    assert "partial" in out
    assert process.returncode == 3


def test_sigkill_of_the_router_ends_its_decoder(tmp_path):
    wrapper = tmp_path / "llama-server"
    wrapper.write_text(decoder_wrapper(Options()))
    wrapper.chmod(0o755)
    command = [ROUTER, "serve", "--port", "0", "--llama-server", str(wrapper), "-m", "toy"]

    async def killed():
        guardian = Guardian()
        guardian.listen()
        try:
            log = tmp_path / "router.log"
            router = await guardian.start(
                "the router", command, env=os.environ, cwd=tmp_path, log=log, ready=re.compile("listening on http")
            )
            await router.ready(AT_MOST_S)
            below = [each["command"] for each in await guardian.processes()]
            assert any("fakes.decoder_server" in each for each in below), below
            router.send(signal.SIGKILL)

            async def nothing_left():
                return None if await guardian.processes() else True

            await until(AT_MOST_S, "the decoder to have ended", nothing_left)
            await router.end()
            await router.read_to_end()
            router.output.close()
        finally:
            guardian.close()

    asyncio.run(killed())


def test_a_mutant_of_the_router_takes_its_folder_with_it():
    code = "from gates import commands; from gates.mutants._in_gates import stand_in; stand_in('router'); "
    code += "print(commands.ROUTER)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    script = Path(done.stdout.strip())
    assert script.name == "kvgate-router"
    assert not script.parent.exists()
