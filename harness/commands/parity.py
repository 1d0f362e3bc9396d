"""`kvgate parity`: whether two real builds give the same greedy replies, and what a difference reads as.

Each build answers every prompt cold and once more from its warm slot; the second is the control that shows how far a
build moves from itself. exit status: 0 same, or nearly a tie; 1 a reply is different; 2 usage; 3 a server or model
cannot be had, or nothing could be compared.
"""

from __future__ import annotations

import argparse
import json
import shlex
from pathlib import Path

from harness.errors import UsageError
from harness.models import model_file
from harness.models.gguf_head import read_head
from harness.proof.parity import prompts, show
from harness.proof.parity.compare import Job, compare
from harness.proof.parity.triage import Reading
from harness.proof.run_folder import new_run_folder, write_whole
from harness.real import find_server

STATUS = {Reading.SAME: 0, Reading.NEAR_TIE: 0, Reading.DIFFERENT: 1, Reading.NOT_COMPARABLE: 3}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = __doc__
    parser.add_argument("a", metavar="A", help="a server: a name, a path or a command")
    parser.add_argument("b", metavar="B", help="the other")
    parser.add_argument("--model", required=True, metavar="NAME", help="a model's name or the path of a GGUF file")
    parser.add_argument("--prompts", type=Path, metavar="FILE", help="a prompt a line, text or a JSON list of ids")
    parser.add_argument("--tokens", type=_whole, default=64, metavar="N", help="how many to generate (%(default)s)")
    parser.add_argument("--decoder-args", default="", metavar="'...'", help="more of llama-server's flags for both")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what was found as JSON")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="write the margins over positions as SVG")
    parser.add_argument("--runs", type=Path, metavar="DIR", help="where the folder with the servers' logs is made")


def _whole(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("expected at least 1")
    return number


def run(arguments: argparse.Namespace) -> int:
    asked = prompts.read(arguments.prompts) if arguments.prompts is not None else prompts.OUR_OWN
    try:
        flags = tuple(shlex.split(arguments.decoder_args))
    except ValueError as error:
        raise UsageError(f"--decoder-args: {error}") from None
    model = model_file(arguments.model, download=True)
    servers = (find_server(arguments.a), find_server(arguments.b))
    folder = new_run_folder(arguments.runs, "parity")
    outcome = compare(Job(servers, model, read_head(model), asked, arguments.tokens, flags, folder))
    print(show.text(outcome))
    print(f"folder: {folder}")
    if arguments.json is not None:
        _write(arguments.json, json.dumps(show.as_json(outcome), indent=1) + "\n")
    if arguments.plot is not None:
        _write(arguments.plot, show.plot(outcome))
    return STATUS[outcome.reading]


def _write(path: Path, text: str) -> None:
    try:
        write_whole(path, text)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from None
