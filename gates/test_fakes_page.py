"""What docs/fakes.md says to type works as it is printed, and no flag of the fake's own is missing there."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from contextlib import ExitStack

import pytest

from gates.commands import BIN, ROOT
from gates.curl import AT_MOST_S, find_curl
from gates.fuzz.http import running
from gates.shapes import unless_missing

PAGE = (ROOT / "docs" / "fakes.md").read_text()
BLOCKS = re.findall(r"^```\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
SHELL = [block.splitlines() for block in BLOCKS if re.search(r"^kvgate ", block, re.MULTILINE)]
LISTENS = re.compile(r"--port (\d+)")
ENDED_S = 20


class Typed:
    """One block's lines, typed one after the other. Ports and /tmp are the test's own."""

    def __init__(self, curl, tmp, stack):
        self.curl, self.tmp, self.stack = curl, tmp, stack
        self.ports = {}
        self.fakes = []

    def line(self, line):
        """What it prints. In the background it is a fake, which is awaited."""
        words = shlex.split(line.replace("/tmp/", f"{self.tmp}/"))
        if words[0] == "kvgate":
            words[:1] = [sys.executable, "-m", "harness.cli"]
        if words[-1] == "&":
            self._start(words[:-1], LISTENS.search(line)[1])
            return ""
        if words[0] == "curl":
            words = [self.curl, "-q", *words[1:], "--show-error", "--max-time", str(AT_MOST_S), "--noproxy", "*"]
            for typed, real in self.ports.items():
                words += ["--connect-to", f"localhost:{typed}:127.0.0.1:{real}"]
        done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=AT_MOST_S + 5, check=False)
        assert done.returncode == 0, f"{line}: {done.returncode}: {done.stderr}"
        return done.stdout

    def _start(self, words, typed):
        words[words.index("--port") + 1] = "0"
        fake = self.stack.enter_context(running(words, self.tmp / f"{typed}.log"))
        self.ports[typed] = fake.port
        self.fakes.append(fake)


@pytest.mark.parametrize("lines", SHELL, ids=lambda lines: lines[-1][:40])
def test_the_lines_of_a_block(lines, tmp_path, request):
    with unless_missing(request.config):
        curl = find_curl()
    with ExitStack() as stack:
        typed = Typed(curl, tmp_path, stack)
        for line in lines:
            said = typed.line(line)
            if line.startswith("curl"):
                assert '"error"' not in said, f"{line}: {said}"
                assert "data: [DONE]" in said if '"stream": true' in line else json.loads(said) is not None
            elif line.startswith("kvgate") and not line.endswith("&"):
                assert said
        assert typed.fakes
        for fake in typed.fakes:
            fake.process.send_signal(signal.SIGINT)
            assert fake.process.wait(ENDED_S) == 0
            assert "Traceback" not in fake.log.read_text()


def test_the_two_lines_of_an_executable(tmp_path):
    (wrapper,) = [block for block in BLOCKS if block.startswith("#!/bin/sh")]
    path = tmp_path / "llama-server"
    path.write_text(wrapper)
    path.chmod(0o755)
    environment = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"}
    done = subprocess.run([path, "--version"], env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith("version: b")


def test_both_blocks_and_the_executable_were_found():
    assert len(SHELL) == 2
    assert sum(len(lines) for lines in SHELL) >= 11


def test_every_flag_of_the_fakes_own_is_on_the_page():
    command = [sys.executable, "-m", "harness.cli", "fake", "decoder", "--help"]
    text = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True).stdout
    own = re.findall(r"^  (--[\w-]+)", text.partition("the fake's own:")[2].partition("\n\n")[0], re.MULTILINE)
    assert "--fault" in own
    assert [flag for flag in own if f"`{flag}" not in PAGE] == []
