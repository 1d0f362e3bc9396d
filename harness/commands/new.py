"""`kvgate new NAME`: a first scenario to change, in a suite's folder.

It runs as it is: on a router that hands the prompt over by state file, with one check each from the client's side,
the decoder's journal and the log.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from harness.errors import UsageError
from harness.scenario import load

_TEMPLATE = """\
scenario: {claim}
under_test: router
# decoder: {{faults: [restore-refuse]}}   `kvgate faults` lists them
provider: {{}}
requests:
  - {{prompt: {{tokens: 30}}}}
checks:
  the request of {name} is answered:
    reply: {{status: 200, finish_reason: length, tokens: 16}}
  the decoder of {name} evaluates one prompt token:
    decoder.prompt_n: 1
    count: 1
  the line of {name} names the prompt's size:
    log.contains: 'hybrid: 30 prompt tokens'
    count: 1
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = __doc__
    parser.add_argument("name", metavar="SUITE/NAME", help="the suite's folder and the scenario's name")
    parser.add_argument("--in", dest="folder", type=Path, default=Path("scenarios"), metavar="DIR",
                        help="where suites lie (%(default)s)")  # fmt: skip


def run(arguments: argparse.Namespace) -> int:
    match = re.fullmatch(r"([a-z0-9_]+)/([a-z0-9_]+)", arguments.name)
    if match is None:
        raise UsageError(f"expected SUITE/NAME of small letters, digits and _, got {arguments.name!r}")
    suite, name = match.groups()
    path = arguments.folder / suite / f"{name}.yaml"
    text = _TEMPLATE.format(name=name, claim=name.replace("_", " "))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise UsageError(f"{path} is there already") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from None
    load(path)
    print(f"wrote {path}\nrun it: kvgate run {path} --router kvgate-router")
    return 0
