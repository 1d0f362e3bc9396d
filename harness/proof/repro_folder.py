"""A folder from which one run can be replayed by hand: a script for each process, the requests, what was seen.

The scripts need what they start, a shell and curl, and no harness. Paths inside are relative, so the folder can be
moved or mailed; ports stand in one file. Pure but for `write`.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

PORTS = {"build": 18000, "decoder": 18080, "prefill": 18081, "peer": 18082}
_WORK = "work"


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it was sent."""

    name: str
    endpoint: str
    body: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Replay:
    """How a run was started: command lines and variables by process, where each served, and the folders it used.

    `folders` are absolute paths that stand in command lines and are the replay's own work folder there.
    """

    title: str
    commands: Mapping[str, Sequence[str]]
    variables: Mapping[str, Mapping[str, str]]
    urls: Mapping[str, str]
    folders: Sequence[str]
    requests: Sequence[Request]
    seen: str
    control: bool = False
    again: str = ""
    files: Mapping[str, str] = field(default_factory=dict)


def write(folder: Path, replay: Replay) -> list[str]:
    """Writes the folder; gives the commands to type in it, in order."""
    for name, text in contents(replay).items():
        path = folder / name
        path.write_text(text, "utf-8")
        if name.endswith(".sh"):
            path.chmod(0o755)
    return steps(replay)


def contents(replay: Replay) -> dict[str, str]:
    """Every file of the folder by name."""
    found = {"ports": "".join(f"{_port(who)}={PORTS[who]}\n" for who in _served(replay))}
    for number, who in enumerate(_in_order(replay), 1):
        found[f"{number}-{who}.sh"] = _script(replay, who)
    for request in replay.requests:
        found[f"request-{request.name}.json"] = json.dumps(request.body, indent=1, ensure_ascii=False) + "\n"
        found[f"request-{request.name}.sh"] = _request(request)
    return found | dict(replay.files) | {"README.txt": _readme(replay)}


def steps(replay: Replay) -> list[str]:
    starts = [f"./{number}-{who}.sh" for number, who in enumerate(_in_order(replay), 1)]
    return [*starts, *(f"./request-{request.name}.sh" for request in replay.requests)]


def _in_order(replay: Replay) -> list[str]:
    """The build last: it wants its decoders there."""
    return sorted(replay.commands, key=lambda who: (who == "build", who))


def _served(replay: Replay) -> list[str]:
    return [who for who in PORTS if who in replay.commands]


def _port(who: str) -> str:
    return f"{who}_port"


def _script(replay: Replay, who: str) -> str:
    words = _with_own_port(list(replay.commands[who]), _port(who))
    variables = [f"{name}={value}" for name, value in replay.variables.get(who, {}).items()]
    command = [*(["env", *variables] if variables else []), *words]
    return (
        f"#!/bin/sh\n# Starts the {who} of: {replay.title}\n"
        f'cd "$(dirname "$0")" || exit 1\n. ./ports\nmkdir -p {_WORK}/slots {_WORK}/tmp\n'
        f"exec {' '.join(_quoted(word, replay) for word in command)}\n"
    )


def _with_own_port(words: list[str], variable: str) -> list[str]:
    """The port that the harness let be chosen, and the one it chose then, are the one from the file."""
    places = [at for at, word in enumerate(words[:-1]) if word == "--port"]
    for at in reversed(places[1:]):
        del words[at : at + 2]
    for at in places[:1]:
        words[at + 1] = f"\0{variable}\0"
    return words


def _quoted(word: str, replay: Replay) -> str:
    """A shell word in which run folders are the work folder and addresses take their port from the file."""
    for folder in sorted(replay.folders, key=len, reverse=True):
        word = word.replace(folder, _WORK)
    for who, url in replay.urls.items():
        host, _, port = url.rpartition(":")
        if port.isdigit():
            word = word.replace(url, f"{host}:\0{_port(who)}\0")
    parts = word.split("\0")
    return "".join(f'"${part}"' if at % 2 else shlex.quote(part) for at, part in enumerate(parts) if part) or "''"


def _request(request: Request) -> str:
    return (
        f'#!/bin/sh\ncd "$(dirname "$0")" || exit 1\n. ./ports\n'
        f'exec curl -sS -N "http://127.0.0.1:${_port("build")}{request.endpoint}" '
        f"-H 'Content-Type: application/json' --data-binary @request-{request.name}.json\n"
    )


def _readme(replay: Replay) -> str:
    lines = [replay.title, "", "In one terminal each, and in this order:", ""]
    lines += [f"    {step}" for step in steps(replay)]
    lines += ["", "The ports stand in the file `ports`; journals and state files come to lie in work/.", ""]
    if replay.control:
        control = f"curl --unix-socket {_WORK}/decoder.sock http://fake"
        hold = """-d '{"point": "decoder.slot-wanted"}'"""
        lines += ["The fake decoder can be stopped at a point and let go on:", ""]
        lines += [f"    {control}/points", f"    {control}/hold {hold}", f"    {control}/release {hold}", ""]
    if replay.again:
        lines += ["The same with the harness:", "", f"    {replay.again}", ""]
    lines += ["What the harness saw:", "", *(f"    {line}" for line in replay.seen.splitlines()), ""]
    return "\n".join(lines)


def requests_of(evidence: Path, names: Iterable[str]) -> list[Request]:
    """The requests that a run kept. One that was never sent is left out."""
    found = []
    for name in names:
        path = evidence / f"request-{name}.json"
        if path.exists():
            told = json.loads(path.read_text("utf-8"))
            found.append(Request(name, told["endpoint"], told["body"]))
    return found
