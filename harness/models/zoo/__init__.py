"""The zoo: synthetic seeded models of a few MB, one per memory architecture.

They stand in for real models on the decoder's KV and slot path and say nothing about the quality of text or the
speed of real sizes. A model is made in a moment, the same bytes each time.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from harness.models import cache
from harness.models.errors import ModelMissing
from harness.models.zoo import architectures, gguf_file, vocabulary
from harness.models.zoo.blueprint import Blueprint
from harness.models.zoo.gguf_file import Dtype

__all__ = ["ARCHITECTURES", "SEED", "SHA256", "Dtype", "blueprint", "find", "make", "place", "write"]

SEED = 1
ROOM_BYTES = 8 * cache.MIB

ARCHITECTURES: dict[str, Callable[[int], Blueprint]] = {
    "tiny-llama": architectures.llama,
    "tiny-qwen3": architectures.qwen3,
    "tiny-gemma3": architectures.gemma3,
    "tiny-mamba": architectures.mamba,
    "tiny-mamba2": architectures.mamba2,
    "tiny-qwen35": architectures.qwen35,
    "tiny-falcon-h1": architectures.falcon_h1,
    "tiny-lfm2": architectures.lfm2,
}

# The bytes of each model as made by default. Another recipe is another file: the name in the cache carries this.
SHA256 = {
    "tiny-llama": "6e09ffe07b9d6baa8eb6ad7201f479229a31ca3c7117b0ccd43e063f17c33bea",
    "tiny-qwen3": "7c67141a51eb80b8408e33b0016df58c48b2a1b2cf95576623834e9cca236817",
    "tiny-gemma3": "c194529e1c306b8ceb6e0d6670de6ae8b90b37a31544c7538c7f58d764d4deef",
    "tiny-mamba": "84e9b2778e39a7b28707c9c7c299a047181e6533d90cbf5691049b5c748d7726",
    "tiny-mamba2": "d184507bfeba0a653dd2eb82b28ee0fdda88bc7b82acfa47655fd3445e3ca068",
    "tiny-qwen35": "adb0b7228070d25bb8d460f9fd75bfbfe17029c4783b9049f77e884f0344ffc9",
    "tiny-falcon-h1": "b725899fcaa7987bd5316f96abb54dd7f9e7f90d2b8099602d2357d6beb2facc",
    "tiny-lfm2": "7fabfc8c0cc36743d1b287b95a54815b82444ef507587e9076a0981f970a3435",
}


def blueprint(name: str) -> Blueprint:
    return ARCHITECTURES[name](vocabulary.SIZE)


def write(name: str, target: Path, *, seed: int = SEED, dtype: Dtype = Dtype.F32) -> None:
    """Write the model of that name to a file."""
    cache.room_for(ROOM_BYTES, cache.made(target.absolute().parent))
    with cache.installing(target) as partial:
        gguf_file.write(blueprint(name), vocabulary.make(), name, seed, dtype, partial)


def place(name: str) -> Path:
    return cache.root() / "models" / f"{name}-{SHA256[name][:8]}.gguf"


def find(name: str) -> Path:
    """The cached file, checked; a damaged one is said to be missing, since it is made anew in a moment."""
    path = place(name)
    if not path.is_file() or not cache.has_digest(path, _expected(name)):
        raise ModelMissing(f"{name} is not in the cache, or damaged there", f"kvgate models make {name}")
    return path


def make(name: str) -> Path:
    """The cached file, made if need be."""
    path = place(name)
    with cache.locked(path):
        try:
            return find(name)
        except ModelMissing:
            write(name, path)
        digest = cache.sha256_of(path)
        if digest != SHA256[name]:
            # Another release of `gguf` may lay the file out differently; the weights are the same.
            print(f"{name}: made with other bytes than are known of it (sha256 {digest})", file=sys.stderr)
            with cache.installing(_record(path)) as partial:
                partial.write_text(digest, encoding="ascii")
    return path


def _record(path: Path) -> Path:
    return path.with_suffix(".sha256")


def _expected(name: str) -> str:
    record = _record(place(name))
    return record.read_text(encoding="ascii") if record.is_file() else SHA256[name]
