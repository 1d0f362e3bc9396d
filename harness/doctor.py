"""What this machine has of what kvgate needs or can use. Each look is one function; none of them changes anything."""

from __future__ import annotations

import os
import platform
import shutil
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from importlib import metadata

from harness.errors import HarnessError, Unavailable


class Need(StrEnum):
    """What it means if a thing is missing."""

    NEEDED = "needed"
    OPTIONAL = "optional"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked for. `remedy` says what would provide it."""

    what: str
    need: Need
    there: bool
    detail: str
    remedy: str = ""


def examine() -> Iterator[Finding]:
    """Everything, needed things first."""
    yield _python()
    yield _linux()
    yield from _kernel()
    yield _temporary_folder()
    yield from _packages()
    yield _program("kvgate-router", "the router that comes with kvgate", "make venv")
    yield _fakes()
    yield _server()
    yield from _models()


def _python() -> Finding:
    found = platform.python_version()
    return Finding("Python 3.11 or newer", Need.NEEDED, sys.version_info >= (3, 11), found, "install Python 3.11")


def _linux() -> Finding:
    return Finding("Linux", Need.NEEDED, sys.platform == "linux", f"{platform.system()} {platform.release()}")


def _kernel() -> Iterator[Finding]:
    looks: tuple[tuple[str, Callable[[], str]], ...] = (
        ("memory descriptors (memfd, sealed)", _memfd),
        ("process descriptors (pidfd)", _pidfd),
        ("Unix sockets with packets", _seqpacket),
    )
    for what, look in looks:
        try:
            yield Finding(what, Need.NEEDED, True, look())
        except (OSError, AttributeError) as error:
            yield Finding(
                what, Need.NEEDED, False, str(error), "a kernel of 5.4 or newer, and a sandbox that allows it"
            )


def _memfd() -> str:
    os.close(os.memfd_create("kvgate-doctor", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING))
    return "can be made"


def _pidfd() -> str:
    os.close(os.pidfd_open(os.getpid()))
    return "can be opened"


def _seqpacket() -> str:
    for end in socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET):
        end.close()
    return "can be made"


def _temporary_folder() -> Finding:
    folder = tempfile.gettempdir()
    free = shutil.disk_usage(folder).free >> 20
    short = len(folder) <= 40
    detail = f"{folder}, {free} MiB free" + ("" if short else "; its path is long, so sockets go to /tmp")
    remedy = "free some space, or set TMPDIR"
    return Finding("a temporary folder with 200 MiB", Need.NEEDED, free >= 200, detail, remedy)


def _packages() -> Iterator[Finding]:
    for name, need in (("aiohttp", Need.NEEDED), ("PyYAML", Need.NEEDED), ("pytest-xdist", Need.NEEDED),
                       ("gguf", Need.OPTIONAL), ("openai", Need.OPTIONAL)):  # fmt: skip
        try:
            yield Finding(f"the package {name}", need, True, metadata.version(name))
        except metadata.PackageNotFoundError:
            yield Finding(f"the package {name}", need, False, "not installed", f"pip install {name}")


def _program(name: str, what: str, remedy: str) -> Finding:
    beside = os.path.join(os.path.dirname(sys.executable), name)
    found = beside if os.access(beside, os.X_OK) else shutil.which(name)
    return Finding(f"{name}, {what}", Need.NEEDED, found is not None, found or "not found", remedy)


def _fakes() -> Finding:
    from harness.fake_faults import known_faults

    try:
        count = len(known_faults().players)
    except HarnessError as error:
        return Finding("the fakes", Need.NEEDED, False, str(error), "make venv")
    return Finding("the fakes", Need.NEEDED, True, f"{count} faults can be played")


def _server() -> Finding:
    from harness.real import server_there

    try:
        found = server_there()
    except Unavailable as missing:
        return Finding("a real llama-server", Need.OPTIONAL, False, missing.reason, missing.command)
    except HarnessError as error:
        return Finding("a real llama-server", Need.OPTIONAL, False, str(error), "set LLAMA_SERVER to one that runs")
    if found is None:
        remedy = "set LLAMA_SERVER, or make real, which fetches the xllamacpp wheel (100 MB) into the cache"
        return Finding("a real llama-server", Need.OPTIONAL, False, "none is installed", remedy)
    return Finding("a real llama-server", Need.OPTIONAL, True, f"{found.name}, {found.version}")


def _models() -> Iterator[Finding]:
    from harness.models import MODELS, Origin

    for each in MODELS:
        if each.origin is Origin.MADE:
            continue
        try:
            yield Finding(f"the model {each.name}", Need.OPTIONAL, True, str(each.find()))
        except Unavailable as missing:
            yield Finding(f"the model {each.name}", Need.OPTIONAL, False, missing.reason, missing.command)
        except HarnessError as error:
            yield Finding(
                f"the model {each.name}", Need.OPTIONAL, False, str(error), f"kvgate models fetch {each.name}"
            )
