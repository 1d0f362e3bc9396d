"""The fake provider: the command a router starts to have a prompt prefilled.

One JSON line on stdin, rows into the lent regions or a state file, one JSON line as the claim. Standard library and
`wire` only, and few imports, since it is started for every handoff. The rows are those of the toy model that the
request, `--model` or FAKE_MODEL names.
"""

from __future__ import annotations

import errno
import hashlib
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from fakes.fault import FaultError, Player
from fakes.journal import Journal
from fakes.model import ToyModel
from fakes.point import Point
from fakes.rows_out import TargetError, check_target, write_file, write_rows
from fakes.settings import JOURNAL, MODEL, PROVIDER_JOURNAL, armed_faults
from fakes.spec import SpecError, parse_spec
from fakes.statefile_out import state_file
from fakes.steps import ClaimLine, End, Prefill
from fakes.turns import turns
from wire.errors import RemoteWireError
from wire.provider import Claim, ProviderRequest, SharedTarget, decode_request, encode_claim

USAGE = "usage: python -m fakes.provider [--fault NAME[=VALUE][,only=N][,p=P][,seed=N]] [--journal FILE] [--model SPEC]"
_EXIT_USAGE = 2
_EXIT_BAD_REQUEST = 1
_MAX_LINE = 64 << 20
_SHOWN = 4096


class UsageError(Exception):
    """The command line is wrong."""


@dataclass(frozen=True, slots=True)
class Options:
    """The provider's own flags."""

    journal: str | None
    model: str | None
    faults: tuple[str, ...]


def parse_options(argv: Sequence[str], environ: Mapping[str, str]) -> Options:
    """Flags over environment. UsageError names what is wrong."""
    values: dict[str, list[str]] = {"--journal": [], "--model": [], "--fault": []}
    words = list(argv)
    while words:
        name = words.pop(0)
        if name not in values:
            raise UsageError(f"unknown argument {name!r}\n{USAGE}")
        if not words:
            raise UsageError(f"{name} needs a value\n{USAGE}")
        values[name].append(words.pop(0))
    journal = values["--journal"] or [environ.get(PROVIDER_JOURNAL) or environ.get(JOURNAL) or ""]
    model = values["--model"] or [environ.get(MODEL, "")]
    return Options(journal[-1] or None, model[-1] or None, tuple(values["--fault"]))


def provider_model(options: Options, request: ProviderRequest) -> ToyModel:
    """The toy model to prefill with. SpecError: its sizes are not those of the request."""
    name = options.model or request.model
    spec = parse_spec(name if name is not None and (name.startswith("toy") or os.path.exists(name)) else "toy")
    for asked, own, what in (
        (request.n_layer, spec.layers, "layers"),
        (request.row_bytes, spec.row_bytes, "row bytes"),
    ):
        if asked is not None and asked != own:
            raise SpecError(f"the decoder has {asked} {what}, the model {own}")
    if any(token >= spec.vocab for token in request.tokens):
        raise SpecError(f"a token outside the vocabulary of {spec.vocab}")
    return ToyModel(spec)


@dataclass(frozen=True, slots=True)
class Written:
    """What was written: how many rows, and the checksum of the state file."""

    n_rows: int = 0
    sha256: str | None = None


def prefill(request: ProviderRequest, model: ToyModel, step: Prefill) -> Written:
    """Write what `step` says into the request's target."""
    cells = _damaged(model.cells(step.tokens[: step.n_rows]), step.damaged_cell)
    if isinstance(request.target, SharedTarget):
        check_target(request.target, len(request.tokens), model.spec.row_bytes, model.n_tensors)
        _write_cells(request.target, model, cells, step)
        return Written(len(cells))
    if step.slow_s:
        _wait_whatever_comes(step.slow_s)
    rows = _rows(model, cells)
    listed = step.tokens if step.foreign_file or len(step.tokens) > len(request.tokens) else request.tokens
    tokens = listed[: max(step.n_rows, step.n_claimed)]
    types = request.k_type or "f16", request.v_type or "f16"
    # A row that was never written is zeros.
    shift = bytes(step.shifted * model.spec.row_bytes)
    size = len(tokens) * model.spec.row_bytes
    padded = [(shift + part)[:size].ljust(size, b"\0") for part in rows]
    data = state_file(model, tokens, padded, request.n_stream or 1, 0, types)
    sha256 = hashlib.sha256(data).hexdigest()
    if step.damaged_file:
        at = len(data) // 2
        data = data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]
    write_file(request.target.path, data if step.room is None else data[: step.room])
    if step.room is not None and step.room < len(data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), request.target.path)
    return Written(len(cells), sha256)


def _rows(model: ToyModel, cells: Sequence[bytes]) -> list[bytes]:
    return model.rows(cells) if cells else [b""] * model.n_tensors


def _damaged(cells: list[bytes], index: int | None) -> list[bytes]:
    if index is None or index >= len(cells):
        return cells
    first, rest = cells[index][0], cells[index][1:]
    return [*cells[:index], bytes([first ^ 0xFF]) + rest, *cells[index + 1 :]]


def _write_cells(target: SharedTarget, model: ToyModel, cells: list[bytes], step: Prefill) -> None:
    """The cells where they belong, in two halves where they are to be slow."""
    if not step.slow_s:
        write_rows(target, _rows(model, cells), step.shifted)
        return
    half = len(cells) // 2
    write_rows(target, _rows(model, cells[:half]), step.shifted)
    _wait_whatever_comes(step.slow_s)
    write_rows(target, _rows(model, cells[half:]), step.shifted + half)


def _wait_whatever_comes(seconds: float) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    select.select([], [], [], seconds)


def main(argv: Sequence[str] | None = None) -> int:
    """The exit status; 0 means that the rows are there."""
    words = sys.argv[1:] if argv is None else argv
    if any(word in ("-h", "--help") for word in words):
        print(f"{USAGE}\n\nOne JSON line on stdin, one on stdout; `kvgate faults provider` lists what it can do wrong.")
        return 0
    try:
        options = parse_options(words, os.environ)
        armed = armed_faults("provider", options.faults, os.environ)
    except (UsageError, FaultError) as error:
        print(f"provider: {error}", file=sys.stderr)
        return _EXIT_USAGE
    if options.journal is not None:
        for one in armed:
            one.turn = turns(options.journal)
    journal = Journal(options.journal, "provider", time.monotonic_ns)
    player = Player(journal, armed)
    try:
        request = decode_request(sys.stdin.buffer.readline(_MAX_LINE + 1))
        status = _serve(options, request, journal, player)
    except (RemoteWireError, SpecError, TargetError, OSError) as error:
        print(f"provider: {error}", file=sys.stderr)
        status = _EXIT_BAD_REQUEST
    journal.write("end", status=status, faults=player.counts())
    return status


def _serve(options: Options, request: ProviderRequest, journal: Journal, player: Player) -> int:
    start_ns = time.monotonic_ns()
    _journal_start(request, journal)
    count = len(request.tokens)
    honest = Prefill(request.tokens, count, count, isinstance(request.target, SharedTarget))
    step = player.at(Point.PREFILL, honest)
    if step.late_s:
        signal.signal(signal.SIGTERM, _ended_by_signal(journal, player))
        select.select([], [], [], step.late_s)
    if step.says:
        print(f"provider: {step.says}", file=sys.stderr)
    written = Written()
    if step.n_rows or step.end is not End.EXIT:
        written = prefill(request, provider_model(options, request), step)
        journal.write("rows", count=written.n_rows)
    if step.end not in (End.HONEST, End.FAILS):
        return _end(step, journal, player)
    prefill_ms = round((time.monotonic_ns() - start_ns) / 1e6, 3)
    claim = player.at(Point.CLAIM, ClaimLine(encode_claim(Claim(step.n_claimed, prefill_ms, written.sha256))))
    journal.write("claim", line=claim.line[-_SHOWN:].decode(errors="replace").rstrip("\n"))
    for _ in range(claim.stderr_bytes // 100):
        print("x" * 99, file=sys.stderr)
    sys.stdout.buffer.write(claim.line)
    sys.stdout.buffer.flush()
    if step.leaves_child and os.fork() == 0:
        while True:
            signal.pause()
    return step.status if step.end is End.FAILS else 0


def _journal_start(request: ProviderRequest, journal: Journal) -> None:
    fds, state_path = [], None
    if isinstance(request.target, SharedTarget):
        for fd in request.target.fds:
            try:
                status = os.fstat(fd)
            except OSError:
                continue  # said again, as an error, before anything is written
            fds.append({"fd": fd, "inode": status.st_ino, "size": status.st_size})
    else:
        state_path = request.target.path
    tokens = list(request.tokens)
    journal.write("start", route=request.route, n_tokens=len(tokens), tokens=tokens, fds=fds, state_file=state_path)


def _end(step: Prefill, journal: Journal, player: Player) -> int:
    """The end that a fault wants. The journal's own end is written first: nothing of it is missing."""
    if step.end is End.EXIT:
        return step.status
    if step.end is End.HANG:
        signal.signal(signal.SIGTERM, _ended_by_signal(journal, player))
        journal.write("hangs")
        while True:
            signal.pause()
    journal.write("end", status=-signal.SIGKILL, faults=player.counts(), by="fault")
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("SIGKILL does not return")


def _ended_by_signal(journal: Journal, player: Player) -> Callable[[int, object], None]:
    def handler(number: int, _: object) -> None:
        journal.write("end", status=-number, faults=player.counts(), by="signal")
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    return handler


if __name__ == "__main__":
    sys.exit(main())
