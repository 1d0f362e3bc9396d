"""The warm process: fakes of their own, told of start and end, gone with their client."""

import json
import os
import signal
import socket
import subprocess
import sys

import pytest

from fakes.tests.running import DEADLINE_S, REPOSITORY
from fakes.warm import BadRequest, parse_order


@pytest.fixture
def warm(tmp_path):
    path = tmp_path / "w.sock"
    process = subprocess.Popen([sys.executable, "-m", "fakes.warm", str(path)], stdout=subprocess.PIPE, cwd=REPOSITORY)
    assert process.stdout.readline() == b"ready\n"
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(DEADLINE_S)
    client.connect(str(path))
    yield process, client
    client.close()
    assert process.wait(DEADLINE_S) == 0
    process.stdout.close()
    assert not path.exists()


def order(client, folder, *argv):
    value = {"kind": "decoder", "argv": ["--port", "0", "--journal", "j", *argv], "cwd": str(folder)}
    value |= {"env": {"FAKE_KVSHARE_REFUSE": "1"}, "stderr": str(folder / "err")}
    client.sendall(json.dumps(value).encode() + b"\n")


def test_a_fake_is_a_process_of_its_own_with_its_own_environment_and_folder(warm, tmp_path):
    process, client = warm
    answers = client.makefile("rb")
    order(client, tmp_path)
    pid = json.loads(answers.readline())["pid"]
    assert pid != process.pid
    while not (tmp_path / "err").exists() or "listening on" not in (tmp_path / "err").read_text():
        os.kill(pid, 0)
    os.kill(pid, signal.SIGTERM)
    assert json.loads(answers.readline()) == {"pid": pid, "exit": 0}
    entries = [json.loads(line) for line in (tmp_path / "j").read_text().splitlines()]
    assert {entry["pid"] for entry in entries} == {pid}
    assert entries[-1]["faults"] == {"kvshare-refuse": {"reached": 0, "fired": 0}}
    answers.close()


def test_a_fake_that_cannot_start_ends_as_it_would_by_itself(warm, tmp_path):
    _, client = warm
    answers = client.makefile("rb")
    order(client, tmp_path, "--frobnicate")
    pid = json.loads(answers.readline())["pid"]
    assert json.loads(answers.readline()) == {"pid": pid, "exit": 1}
    assert (tmp_path / "err").read_text() == "error: invalid argument: --frobnicate\n"
    answers.close()


def test_a_clients_fakes_are_gone_with_it(warm, tmp_path):
    process, client = warm
    answers = client.makefile("rb")
    order(client, tmp_path)
    pid = json.loads(answers.readline())["pid"]
    answers.close()
    client.close()
    assert process.wait(DEADLINE_S) == 0
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"{", "no JSON"),
        (b"[]", "no JSON object"),
        (b'{"kind": "decder", "argv": []}', "did you mean decoder"),
        (b'{"kind": "decoder", "argv": "x"}', "argv"),
        (b'{"kind": "decoder", "argv": [], "env": {"A": 1}}', "env"),
        (b'{"kind": "decoder", "argv": [], "cwd": 3}', "cwd"),
    ],
)
def test_a_line_that_asks_for_nothing_is_refused(line, why):
    with pytest.raises(BadRequest, match=why):
        parse_order(line)
