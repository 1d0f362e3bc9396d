"""Qwen3-0.6B: the model the seeds were measured with. Its weights are on a hub, so not on every machine.

Looked for in this order: the path in `KVGATE_QWEN3_GGUF`, the Hugging Face cache, llama.cpp's own cache. A file of
the Hugging Face cache is a link to a blob named by its SHA-256, so its checksum comes with it.
"""

from __future__ import annotations

import logging
import os
import re
import socket
import sys
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

from harness.models import cache
from harness.models.errors import ModelDamaged, ModelMissing
from harness.models.gguf_head import read_head

NAME = "qwen3-0.6b"
VARIABLE = "KVGATE_QWEN3_GGUF"
REPOSITORY = "Qwen/Qwen3-0.6B-GGUF"
FILE = "Qwen3-0.6B-Q8_0.gguf"
ARCHITECTURE = "qwen3"
BLOCKS = 28


def find() -> Path:
    """The file, checked to be a whole GGUF of this architecture and depth."""
    if named := os.environ.get(VARIABLE):
        path = Path(named).expanduser()
        if not path.is_file():
            raise ModelMissing(f"{VARIABLE} names {path}, which is not there", f"{VARIABLE}=PATH")
        return _checked(path)
    for path in _cached():
        return _checked(path)
    raise ModelMissing(
        f"{NAME} is neither named by {VARIABLE} nor in the Hugging Face cache", f"kvgate models fetch {NAME}"
    )


def _cached() -> list[Path]:
    hub = Path(os.environ.get("HF_HUB_CACHE") or Path(os.environ.get("HF_HOME", "~/.cache/huggingface")) / "hub")
    found = sorted(hub.expanduser().glob("models--*[Qq]wen3-0.6[Bb]*/snapshots/*/*.gguf"))
    llama = Path(os.environ.get("LLAMA_CACHE", "~/.cache/llama.cpp")).expanduser()
    return found + sorted(llama.glob("*[Qq]wen3-0.6[Bb]*.gguf"))


def _checked(path: Path) -> Path:
    head = read_head(path)
    if head.architecture != ARCHITECTURE or head.block_count != BLOCKS:
        raise ModelDamaged(
            f"{path}: not {NAME}: architecture {head.architecture} with {head.block_count} blocks,"
            f" {ARCHITECTURE} with {BLOCKS} was expected"
        )
    blob = path.resolve().name
    if re.fullmatch(r"[0-9a-f]{64}", blob) and not cache.has_digest(path.resolve(), blob):
        raise ModelDamaged(
            f"{path}: wrong checksum, the file is damaged; remove {path.resolve()}, then: kvgate models fetch {NAME}"
        )
    return path


def fetch() -> Path:
    """The file found, or downloaded into the Hugging Face cache by its own library."""
    try:
        return find()
    except ModelMissing as missing:
        if os.environ.get(VARIABLE):
            raise
        return _from_hub(missing)


def _from_hub(missing: ModelMissing) -> Path:
    try:
        from huggingface_hub import constants, hf_hub_download
        from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError
    except ImportError as err:
        raise ModelMissing(
            f"{missing.reason}, and huggingface_hub is not installed", "pip install 'kvgate[real]'"
        ) from err
    # Its own warnings of every retry would bury the one line that counts.
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)
    try:
        _look_up(constants.ENDPOINT)
        print(f"{NAME}: downloading {REPOSITORY} from {constants.ENDPOINT} ...", file=sys.stderr, flush=True)
        return _checked(Path(hf_hub_download(REPOSITORY, FILE)))
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as err:
        why = str(err.__cause__ or err).splitlines()[0][:200]
        raise ModelMissing(f"{missing.reason}, and the hub cannot be reached ({why})", f"{VARIABLE}=PATH") from err


def _look_up(endpoint: str) -> None:
    """OSError at once where the hub's name leads nowhere: its library would try for half a minute."""
    parts = urlsplit(endpoint)
    if not urllib.request.getproxies():
        socket.getaddrinfo(parts.hostname, parts.port or parts.scheme)
