"""`xllamacpp` by version: each in an environment of its own under the cache, made when first asked for.

An environment is made beside its place and renamed there when it is whole and its wheel can be imported, so one
that a killed process left half-made is never used.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path

from harness.models import cache, pip
from harness.real import launcher
from harness.real.errors import ServerMissing, UnknownServer
from harness.real.server import Server

PACKAGE = "xllamacpp"
DEFAULT_VERSION = "2026.10.11549"
ENVIRONMENT_BYTES = 400 * cache.MIB
IMPORT_DEADLINE_S = 120.0
_VERSION = re.compile(r"\d+(\.\d+){1,3}")


def find(spec: str) -> Server:
    """`xllamacpp` (our default version) or `xllamacpp==VERSION`."""
    name, pinned, wanted = spec.partition("==")
    version = wanted if pinned else DEFAULT_VERSION
    if name != PACKAGE or not _VERSION.fullmatch(version):
        raise UnknownServer(f"{spec!r} is not {PACKAGE} or {PACKAGE}==VERSION, such as {PACKAGE}=={DEFAULT_VERSION}")
    python = environment(version)
    return Server(
        name=f"{PACKAGE}=={version}",
        argv=(str(python), "-I", str(_launcher_beside(python.parent.parent))),
        version=version,
        build=f"b{version.split('.')[2]}" if version.count(".") >= 2 else version,
    )


def is_made(version: str = DEFAULT_VERSION) -> bool:
    """Whether the environment of this version is there, so that `find` has nothing to fetch."""
    return _python_of(version).exists()


def _launcher_beside(environment: Path) -> Path:
    """Our launcher, copied beside the wheel: what is started then lies in one place and in nobody's work tree.

    The name carries its digest, so that another edition of kvgate neither uses nor disturbs it.
    """
    source = Path(launcher.__file__)
    place = environment / f"llama-server-{cache.sha256_of(source)[:8]}.py"
    if not place.exists():
        with cache.installing(place) as partial:
            shutil.copyfile(source, partial)
    return place


def environment(version: str) -> Path:
    """The Python of the environment that holds this version."""
    python = _python_of(version)
    if python.exists():
        return python
    place = python.parent.parent
    with cache.locked(place):
        if not python.exists():
            cache.room_for(ENVIRONMENT_BYTES, cache.made(place.parent))
            print(f"{PACKAGE}=={version}: making its environment in {place}", file=sys.stderr, flush=True)
            with cache.installing(place) as partial, cache.scratch(place) as scratch:
                _make(partial, version, scratch)
    return python


def _python_of(version: str) -> Path:
    place = cache.root() / "servers" / f"{PACKAGE}-{version}-py{sys.version_info.major}.{sys.version_info.minor}"
    return place / "bin" / "python"


def _make(folder: Path, version: str, scratch: Path) -> None:
    """Our own pip installs into it, so it needs none of its own (and takes a second less to make)."""
    venv.create(folder, with_pip=False, symlinks=True)
    python = folder / "bin" / "python"
    said = pip.run(
        ["--python", str(python), "install", "--only-binary", ":all:", "--no-deps", f"{PACKAGE}=={version}"],
        scratch=scratch,
    )
    if said is not None:
        raise ServerMissing(f"{PACKAGE}=={version} could not be installed: {said}", f"pip index versions {PACKAGE}")
    tried = subprocess.run(
        [python, "-c", f"import {PACKAGE}"], capture_output=True, text=True, timeout=IMPORT_DEADLINE_S
    )
    if tried.returncode != 0:
        last = (tried.stderr.strip().splitlines() or [f"exit status {tried.returncode}"])[-1]
        raise ServerMissing(f"{PACKAGE}=={version} does not load on this machine: {last}", f"{PACKAGE}==VERSION")
