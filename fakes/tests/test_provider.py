"""The fake provider: rows, claims and ends, in a process as a router starts it."""

import hashlib
import json
import os
import select
import signal
import subprocess
import sys

import pytest

from fakes.catalogue import faults_of
from fakes.model import ToyModel
from fakes.provider import main
from fakes.spec import parse_spec
from fakes.store import RowStore
from fakes.tests.running import DEADLINE_S, REPOSITORY
from wire.attention import decode_attention
from wire.provider import Claim, FileTarget, ProviderRequest, SharedTarget, encode_request, last_claim
from wire.region import Cells
from wire.statefile import decode_statefile

TOKENS = (0, 300, 301, 302, 303, 304)
MODEL = ToyModel(parse_spec("toy"))
FIRST_CELL = 10


@pytest.fixture
def store():
    one = RowStore(layers=2, row_bytes=32, n_cells=64)
    one.write(0, [b"\xee" * 32 * 64] * 4)
    yield one
    one.close()


def target(store):
    return SharedTarget(tuple(store.fds), store.regions, store.tensors, Cells(FIRST_CELL, len(TOKENS)))


def run(request: ProviderRequest, journal, *faults: str, **environ: str):
    fds = request.target.fds if isinstance(request.target, SharedTarget) else ()
    flags = [word for fault in faults for word in ("--fault", fault)]
    return subprocess.run(
        [sys.executable, "-m", "fakes.provider", "--journal", str(journal), *flags],
        input=encode_request(request),
        capture_output=True,
        pass_fds=fds,
        cwd=REPOSITORY,
        env={**os.environ, **environ},
        timeout=DEADLINE_S,
    )


def entries(journal, event):
    return [entry for entry in map(json.loads, journal.read_text().splitlines()) if entry["event"] == event]


def cells(store):
    return [store.cell(FIRST_CELL + i) for i in range(len(TOKENS))]


HONEST = MODEL.cells(TOKENS)
STALE = b"\xee" * 128


def test_all_rows_are_in_the_region_and_nothing_else_is_touched(store, tmp_path):
    done = run(ProviderRequest(TOKENS, target(store), model="toy"), tmp_path / "j")
    assert (done.returncode, done.stderr) == (0, b"")
    assert last_claim(done.stdout).n_tokens == len(TOKENS)
    assert cells(store) == HONEST
    assert (store.cell(FIRST_CELL - 1), store.cell(FIRST_CELL + len(TOKENS))) == (STALE, STALE)
    start = entries(tmp_path / "j", "start")[0]
    assert [(fd["inode"], fd["size"]) for fd in start["fds"]] == [
        (inode, region.size) for inode, region in zip(store.inodes, store.regions, strict=True)
    ]
    assert (start["route"], start["tokens"]) == ("shared", list(TOKENS))
    assert entries(tmp_path / "j", "rows")[0]["count"] == len(TOKENS)
    assert entries(tmp_path / "j", "end")[0]["status"] == 0


def test_a_state_file_holds_the_same_rows(tmp_path):
    path = tmp_path / "s.bin"
    path.write_bytes(b"longer than what will be there" * 1000)
    done = run(ProviderRequest(TOKENS, FileTarget(str(path)), n_stream=2), tmp_path / "j")
    assert done.returncode == 0
    file = decode_statefile(path.read_bytes())
    state = decode_attention(file.state)
    assert (file.tokens, state.n_stream, state.positions) == (TOKENS, 2, tuple(range(6)))
    rows = [layer.rows for pair in zip(state.keys, state.values, strict=True) for layer in pair]
    assert rows == MODEL.rows(HONEST)


BAD = ProviderRequest(TOKENS, FileTarget("/no/such/dir/s.bin"))


@pytest.mark.parametrize(
    ("request_", "text"),
    [
        (BAD, b"No such file"),
        (ProviderRequest((5000,), FileTarget("/dev/null")), b"a token outside the vocabulary"),
        (ProviderRequest(TOKENS, FileTarget("/dev/null"), n_layer=9), b"the decoder has 9 layers, the model 2"),
        (ProviderRequest(TOKENS, FileTarget("/dev/null"), model="toy:lyers=1"), b"did you mean layers"),
    ],
    ids=["folder", "token", "layers", "spec"],
)
def test_what_it_cannot_do_is_one_clear_line_and_a_status(request_, text, tmp_path):
    done = run(request_, tmp_path / "j")
    assert (done.returncode, done.stdout) == (1, b"")
    assert text in done.stderr
    assert done.stderr.count(b"\n") == 1
    assert entries(tmp_path / "j", "end")[0]["status"] == 1


def test_a_descriptor_smaller_than_its_region_is_seen_before_it_is_mapped(store, tmp_path):
    with open(tmp_path / "small", "w+b") as small:
        wrong = SharedTarget((small.fileno(),), store.regions, store.tensors, Cells(FIRST_CELL, 6))
        done = run(ProviderRequest(TOKENS, wrong), tmp_path / "j")
    assert done.returncode == 1
    assert b"has 0 bytes" in done.stderr


@pytest.mark.parametrize("argv", [["--what"], ["--fault"], ["--fault", "kvshare-refuse"], ["--fault", "provider-exi"]])
def test_a_wrong_command_line_ends_with_2(argv, capsys):
    assert main(argv) == 2
    assert capsys.readouterr().err.startswith("provider: ")


SHARED_EXPECTED = {
    "kvshare-short": (0, Claim(5), [*HONEST[:5], STALE]),
    "kvshare-short=4": (0, Claim(2), [*HONEST[:2], *[STALE] * 4]),
    "provider-fewer-rows": (0, Claim(6), [*HONEST[:4], STALE, STALE]),
    "provider-stale-rows": (0, Claim(6), [STALE] * 6),
    "provider-foreign-rows": (0, Claim(6), MODEL.cells([token ^ 1 for token in TOKENS[:-1]] + [TOKENS[-1]])),
    "provider-foreign-file": (0, Claim(6), MODEL.cells([token ^ 1 for token in TOKENS[:-1]] + [TOKENS[-1]])),
    "provider-damaged-file": (0, Claim(6), HONEST),
    "provider-exit": (3, None, [STALE] * 6),
    "provider-exit=77": (77, None, [STALE] * 6),
    "provider-killed": (-signal.SIGKILL, None, [*HONEST[:3], *[STALE] * 3]),
    "provider-claim": (0, Claim(-1), HONEST),
    'provider-claim="30"': (0, Claim("30"), HONEST),
    "provider-claim=29.5": (0, Claim(29.5), HONEST),
    "provider-no-json": (0, None, HONEST),
    "provider-killed=100": (-signal.SIGKILL, None, HONEST),
    "provider-fails-after-claim": (3, Claim(6), HONEST),
    "provider-late=1": (0, Claim(6), HONEST),
    "provider-slow-write=1": (0, Claim(6), HONEST),
    "provider-capacity=5": (1, None, [STALE] * 6),
    "provider-nothing-done": (0, None, [STALE] * 6),
    "provider-one-row-more": (0, Claim(7), HONEST),
    "provider-one-row-more=hidden": (0, Claim(6), HONEST),
    "provider-shifted-rows=2": (0, Claim(6), [STALE, STALE, *HONEST[:4]]),
    "provider-damaged-row=2": (0, Claim(6), [*HONEST[:2], bytes([HONEST[2][0] ^ 0xFF]) + HONEST[2][1:], *HONEST[3:]]),
    "provider-noise=9000": (0, Claim(6), HONEST),
    "provider-long-line": (0, None, HONEST),
    "provider-loud=100000": (0, Claim(6), HONEST),
}
BESIDE = {"provider-hang", "provider-disk-full", "provider-leaves-child"}
"""Tested by tests of their own."""
TESTED = {setting.partition("=")[0] for setting in SHARED_EXPECTED} | BESIDE


@pytest.mark.parametrize("fault", SHARED_EXPECTED)
def test_it_changes_what_it_says_and_nothing_else(store, tmp_path, fault):
    status, claim, rows = SHARED_EXPECTED[fault]
    done = run(ProviderRequest(TOKENS, target(store)), tmp_path / "j", fault)
    found = last_claim(done.stdout)
    assert done.returncode == status
    assert (found is None) == (claim is None)
    assert claim is None or found.n_tokens == claim.n_tokens
    assert cells(store) == rows
    end = entries(tmp_path / "j", "end")
    assert [entry["faults"] for entry in end] == [{fault.partition("=")[0]: {"reached": 1, "fired": 1}}]
    assert end[0].get("by") == ("fault" if status == -signal.SIGKILL else None)


@pytest.mark.parametrize("fault", sorted(TESTED - {"provider-disk-full"}))
def test_where_it_does_not_fire_all_is_as_without_it(store, tmp_path, fault):
    done = run(ProviderRequest(TOKENS, target(store)), tmp_path / "j", f"{fault},only=2")
    assert (done.returncode, last_claim(done.stdout).n_tokens, cells(store)) == (0, 6, HONEST)
    assert entries(tmp_path / "j", "end")[0]["faults"] == {fault: {"reached": 1, "fired": 0}}


def test_a_hung_provider_ends_by_a_signal_and_says_so(store, tmp_path):
    request, journal = ProviderRequest(TOKENS, target(store)), tmp_path / "j"
    process = subprocess.Popen(
        [sys.executable, "-m", "fakes.provider", "--journal", str(journal), "--fault", "provider-hang"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        pass_fds=request.target.fds,
        cwd=REPOSITORY,
    )
    try:
        process.stdin.write(encode_request(request))
        process.stdin.close()
        while not (journal.exists() and b'"hangs"' in journal.read_bytes()):
            assert process.poll() is None
        process.terminate()
        assert process.wait(DEADLINE_S) == -signal.SIGTERM
        assert process.stdout.read() == b""
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    assert cells(store) == [*HONEST[:3], *[STALE] * 3]
    assert [entry["by"] for entry in entries(journal, "end")] == ["signal"]


def test_every_fault_of_the_provider_is_tested_here():
    assert set(faults_of("provider")) == TESTED


def test_an_n_th_time_is_counted_over_all_processes_that_share_a_journal(store, tmp_path):
    journal = tmp_path / "j"
    request = ProviderRequest(TOKENS, target(store))
    statuses = [run(request, journal, "provider-exit=7,only=2").returncode for _ in range(3)]
    assert statuses == [0, 7, 0]
    told = [entry["faults"]["provider-exit"] for entry in entries(journal, "end")]
    assert told == [{"reached": 1, "fired": fired} for fired in (0, 1, 0)]


def test_a_chance_is_drawn_over_all_processes_that_share_a_journal(store, tmp_path):
    def draws(name, seed):
        (tmp_path / name).mkdir()
        setting = f"provider-exit,p=0.5,seed={seed}"
        request = ProviderRequest(TOKENS, target(store))
        return [run(request, tmp_path / name / "j", setting).returncode for _ in range(6)]

    first = draws("a", 3)
    assert first == draws("b", 3)
    assert first != draws("c", 4)


def test_a_child_that_is_left_behind_holds_the_output_open(store, tmp_path):
    request = ProviderRequest(TOKENS, target(store))
    process = subprocess.Popen(
        [sys.executable, "-m", "fakes.provider", "--fault", "provider-leaves-child"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        pass_fds=request.target.fds,
        cwd=REPOSITORY,
        start_new_session=True,
    )
    try:
        process.stdin.write(encode_request(request))
        process.stdin.close()
        assert process.wait(DEADLINE_S) == 0
        assert last_claim(os.read(process.stdout.fileno(), 4096)).n_tokens == 6
        assert select.select([process.stdout], [], [], 0.1)[0] == []  # no end of file
        os.killpg(process.pid, signal.SIGTERM)
        assert process.stdout.read() == b""
    finally:
        process.stdout.close()
    assert cells(store) == HONEST


def test_a_slow_writer_is_not_ended_by_a_term(store, tmp_path):
    request, journal = ProviderRequest(TOKENS, target(store)), tmp_path / "j"
    process = subprocess.Popen(
        [sys.executable, "-m", "fakes.provider", "--journal", str(journal), "--fault", "provider-slow-write=300"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        pass_fds=request.target.fds,
        cwd=REPOSITORY,
    )
    try:
        process.stdin.write(encode_request(request))
        process.stdin.close()
        while store.cell(FIRST_CELL + 2) != HONEST[2]:
            assert process.poll() is None
        while not ignores_term(process.pid):
            assert process.poll() is None
        process.terminate()
        assert process.wait(DEADLINE_S) == 0
    finally:
        process.stdout.close()
    assert cells(store) == HONEST


def ignores_term(pid):
    with open(f"/proc/{pid}/status") as status:
        ignored = next(line for line in status if line.startswith("SigIgn:"))
    return int(ignored.split()[1], 16) >> (signal.SIGTERM - 1) & 1


def test_a_full_disk_leaves_a_part_of_the_state_file(tmp_path):
    path = tmp_path / "s.bin"
    done = run(ProviderRequest(TOKENS, FileTarget(str(path))), tmp_path / "j", "provider-disk-full=100")
    assert (done.returncode, done.stdout, path.stat().st_size) == (1, b"", 100)
    assert b"No space left on device" in done.stderr
    assert entries(tmp_path / "j", "end")[0]["faults"] == {"provider-disk-full": {"reached": 1, "fired": 1}}


def test_a_full_disk_is_nothing_to_the_shared_route(store, tmp_path):
    done = run(ProviderRequest(TOKENS, target(store)), tmp_path / "j", "provider-disk-full=100")
    assert (done.returncode, cells(store)) == (0, HONEST)
    assert entries(tmp_path / "j", "end")[0]["faults"] == {"provider-disk-full": {"reached": 0, "fired": 0}}


STATE_FILE_EXPECTED = {
    "kvshare-short": (TOKENS[:5], HONEST[:5]),
    "provider-fewer-rows": (TOKENS, [*HONEST[:4], bytes(128), bytes(128)]),
    "provider-stale-rows": (TOKENS, [bytes(128)] * 6),
    "provider-shifted-rows": (TOKENS, [bytes(128), *HONEST[:5]]),
    "provider-slow-write=1": (TOKENS, HONEST),
    "provider-one-row-more": ((*TOKENS, TOKENS[-1]), MODEL.cells((*TOKENS, TOKENS[-1]))),
    "provider-one-row-more=hidden": ((*TOKENS, TOKENS[-1]), MODEL.cells((*TOKENS, TOKENS[-1]))),
}


@pytest.mark.parametrize("fault", STATE_FILE_EXPECTED)
def test_rows_left_out_of_a_state_file(tmp_path, fault):
    tokens, rows = STATE_FILE_EXPECTED[fault]
    path = tmp_path / "s.bin"
    run(ProviderRequest(TOKENS, FileTarget(str(path))), tmp_path / "j", fault)
    file = decode_statefile(path.read_bytes())
    state = decode_attention(file.state)
    assert file.tokens == tokens
    found = [layer.rows for pair in zip(state.keys, state.values, strict=True) for layer in pair]
    assert found == MODEL.rows(rows)


def written(tmp_path, *faults):
    path = tmp_path / "s.bin"
    done = run(ProviderRequest(TOKENS, FileTarget(str(path))), tmp_path / "j", *faults)
    return path.read_bytes(), last_claim(done.stdout).sha256


def test_the_claim_has_the_checksum_of_the_state_file(tmp_path):
    data, claimed = written(tmp_path)
    assert hashlib.sha256(data).hexdigest() == claimed


def test_a_damaged_state_file_is_not_the_one_of_the_claim(tmp_path):
    honest, claimed = written(tmp_path)
    data, same = written(tmp_path, "provider-damaged-file")
    assert same == claimed
    assert [i for i, pair in enumerate(zip(honest, data, strict=True)) if pair[0] != pair[1]] == [len(data) // 2]


def test_a_foreign_state_file_has_the_other_prompts_tokens_and_a_right_checksum(tmp_path):
    data, claimed = written(tmp_path, "provider-foreign-file")
    assert decode_statefile(data).tokens == (*(token ^ 1 for token in TOKENS[:-1]), TOKENS[-1])
    assert hashlib.sha256(data).hexdigest() == claimed


def test_a_fault_comes_from_the_environment_it_shares_with_the_decoder(store, tmp_path):
    environ = {"FAKE_KVSHARE_SHORT": "2", "FAKE_KVSHARE_REFUSE": "1", "FAKE_PROVIDER_JOURNAL": "/no/such"}
    done = run(ProviderRequest(TOKENS, target(store)), tmp_path / "j", **environ)
    assert last_claim(done.stdout).n_tokens == 4
