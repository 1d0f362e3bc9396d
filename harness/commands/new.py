"""`kvgate new SUITE/NAME`: a first scenario to change. `kvgate new suite NAME`: a first suite, with a mutant.

They run as they are, on a router that hands the prompt over by state file. The suite's mutants need nothing of the
router's own: they have the provider fail, or the decoder, and show that the suite's checks can go red.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from harness.errors import UsageError
from harness.scenario_file import find, load

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


_HANDED_OVER = """\
# A prompt is handed over, and the decoder has one token left to evaluate. `kvgate faults` lists what can go wrong;
# docs/writing-scenarios.md says what can be looked at.
scenario: a prompt that was prefilled elsewhere is decoded from its rows
under_test: router
provider: {{}}
requests:
  - {{prompt: {{tokens: 30}}}}
checks:
  the request of {name} is answered:
    reply: {{status: 200, finish_reason: length, tokens: 16}}
  the reply of {name} is the plain run's:
    reply.parity: same
  the decoder of {name} evaluates one prompt token:
    decoder.prompt_n: 1
    count: 1
"""
_PROVIDER_FAILS = """\
# The router is as it was, and nothing can be handed over to it: whoever counts one evaluated token has not looked.
scenario: a provider that fails is survived
under_test: router
provider: {{faults: [provider-exit]}}
requests:
  - {{prompt: {{tokens: 30}}}}
checks:
  the request of {name} is answered after a provider that failed:
    reply: {{status: 200, finish_reason: length, tokens: 16}}
  the decoder of {name} prefills the prompt itself then:
    decoder.prompt_n: 30
    count: 1
"""
_PREFILL_FAILS = '''\
"""Every prefill fails: a check that counts on the handoff has to turn red."""

SUITES = ("{name}/handed_over",)
PROVIDER_FAULTS = ("provider-exit=3",)
'''
_DECODE_FAILS = '''\
"""No decoder answers: a check of the reply has to turn red."""

SUITES = ("{name}",)
DECODER_FAULTS = ("http-status=500,path=/v1/chat/completions",)
'''


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = __doc__
    parser.add_argument("words", nargs="+", metavar="SUITE/NAME | suite NAME", help="what is to be written")
    parser.add_argument(
        "--in", dest="folder", type=Path, metavar="DIR", help="where suites lie (scenarios unless said)"
    )


def run(arguments: argparse.Namespace) -> int:
    folder = arguments.folder or Path("scenarios")
    match arguments.words:
        case ["suite", name]:
            return _suite(folder, name)
        case [word] if match := re.fullmatch(r"([a-z0-9_]+)/([a-z0-9_]+)", word):
            return _scenario(folder, *match.groups())
        case _:
            told = " ".join(arguments.words)
            raise UsageError(f"expected SUITE/NAME or suite NAME, of small letters, digits and _, got {told!r}")


def _scenario(folder: Path, suite: str, name: str) -> int:
    path = folder / suite / f"{name}.yaml"
    _write(path, _TEMPLATE.format(name=name, claim=name.replace("_", " ")))
    load(path)
    print(f"wrote {path}\nrun it: kvgate run {path} --router kvgate-router")
    return 0


def _suite(folder: Path, name: str) -> int:
    if not re.fullmatch(r"[a-z0-9_]+", name):
        raise UsageError(f"a suite's name has small letters, digits and _, got {name!r}")
    suite, mutants = folder / name, folder / "mutants"
    texts = {
        suite / "handed_over.yaml": _HANDED_OVER,
        suite / "provider_fails.yaml": _PROVIDER_FAILS,
        mutants / f"{name}_prefill_fails.py": _PREFILL_FAILS,
        mutants / f"{name}_decode_fails.py": _DECODE_FAILS,
    }
    for path, text in texts.items():
        _write(path, text.format(name=name))
        print(f"wrote {path}")
    find([suite])
    build = "--router CMD --profile my-router.yaml"
    print(f"run it:            kvgate run {suite} {build}")
    print(f"see it go red:     kvgate prove {suite} {build} --mutants {mutants}")
    print("kvgate-router needs no profile; docs/other-routers.md says how to write one for another")
    return 0


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise UsageError(f"{path} is there already") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from None
