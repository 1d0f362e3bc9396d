"""`kvgate`: one command a file in `harness.commands`, loaded when it is asked for.

Exit statuses: 0 all ok or proven; 1 a check FAILed; 2 usage or a bad scenario; 3 something could not be observed,
or the result cannot be trusted; 4 vacuous; 130 interrupted; 143 terminated.
"""

from __future__ import annotations

import contextlib
import errno
import importlib
import os
import sys
from collections.abc import Sequence

from harness.commands.parser import Parser
from harness.errors import HarnessError, UsageError
from harness.near import did_you_mean

COMMANDS = {
    "run": "run scenarios on one build",
    "ab": "run scenarios on an old and a new build, and say what moved",
    "matrix": "run scenarios on several builds: which fixes compose",
    "prove": "show that every check can go red, by mutants",
    "flakes": "checks that said ok and FAIL on one and the same build",
    "repro": "one scenario to replay by hand, or live and step by step",
    "fake": "start a fake: decoder, engine or provider, the decoder with llama-server's own flags",
    "faults": "list the faults that the fakes can play",
    "conform": "ask a decoder whether it speaks llama-server's dialect, clause by clause",
    "parity": "compare the greedy replies of two real builds",
    "models": "list, fetch and make models by name",
    "doctor": "say what this machine has of what kvgate can use",
    "schema": "print the JSON Schema of a scenario file",
    "pytest": "the scenarios as pytest items, with a build of your own",
    "new": "write a first scenario, or a first suite with mutants",
    "report": "render the result of an earlier run",
}

USAGE, ERROR, CANNOT_BE_JUDGED, INTERRUPTED = 2, 3, 125, 130
_CANNOT_WRITE = (errno.ENOSPC, errno.EDQUOT, errno.EIO)


def main(argv: Sequence[str] | None = None) -> int:
    """Everything that a person can get wrong is one line on stderr; a traceback is a bug of kvgate's."""
    _open_what_is_closed()
    words = list(sys.argv[1:] if argv is None else argv)
    status = _status_of(words)
    return _for_bisect(status) if words[:1] == ["run"] and "--bisect" in words else status


def _for_bisect(status: int) -> int:
    """`git bisect run` takes every status up to 127 but 0 and 125 for a bad commit: only a FAIL may say that."""
    return status if status in (0, 1) or status > 127 else CANNOT_BE_JUDGED


def _status_of(words: Sequence[str]) -> int:
    prog = f"kvgate {words[0]}" if words and words[0] in COMMANDS else "kvgate"
    try:
        status = _dispatch(words, prog)
        sys.stdout.flush()
        return status
    except UsageError as error:
        return _failed(prog, error, USAGE)
    except HarnessError as error:
        return _failed(prog, error, ERROR)
    except KeyboardInterrupt:
        return _failed(prog, "interrupted", INTERRUPTED)
    except BrokenPipeError:
        _write_no_more()
        return ERROR
    except OSError as error:
        if error.errno not in _CANNOT_WRITE:
            raise
        _write_no_more()
        where = f"{error.filename}: " if error.filename else ""
        return _failed(prog, f"{where}cannot be written: {error.strerror}", ERROR)


def _open_what_is_closed() -> None:
    """A standard descriptor that is closed would be the next file's or socket's, and output would go there."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_RDWR)
            if null != number:
                os.dup2(null, number)
                os.close(null)
            os.set_inheritable(number, True)
            setattr(sys, name, open(number, "r" if number == 0 else "w", closefd=False))  # noqa: SIM115


def _write_no_more() -> None:
    """What is still in the buffer goes nowhere as the interpreter ends."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _failed(prog: str, what: object, status: int) -> int:
    print(f"{prog}: {what}", file=sys.stderr)
    return status


def _dispatch(words: Sequence[str], prog: str) -> int:
    if not words or words[0] in ("-h", "--help", "help"):
        print(_overview())
        return 0 if words else USAGE
    if words[0] == "--version":
        from importlib.metadata import version

        print(f"kvgate {version('kvgate')}")
        return 0
    if words[0] not in COMMANDS:
        raise UsageError(f"no such command: {words[0]}{did_you_mean(words[0], COMMANDS)}")
    command = importlib.import_module(f"harness.commands.{words[0]}")
    if hasattr(command, "main"):
        return int(command.main(words[1:]))
    parser = Parser(prog)
    command.add_arguments(parser)
    return int(command.run(parser.checked(words[1:])))


def _overview() -> str:
    commands = "\n".join(f"  {name:8} {about}" for name, about in COMMANDS.items())
    return f"usage: kvgate COMMAND ...\n\n{commands}\n\nkvgate COMMAND --help says more. {_STATUSES}"


_STATUSES = """Exit statuses:
  0 all ok, or proven    1 a check FAILed    2 usage, or a bad scenario
  3 something could not be observed, or cannot be trusted    4 vacuous    130 interrupted    143 terminated"""


if __name__ == "__main__":
    sys.exit(main())
