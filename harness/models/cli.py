"""`kvgate models list|fetch|make|path`: models on the command line.

Exit statuses: 0 done, 2 usage or an unknown name, 3 the model cannot be had (missing, damaged, no space).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tabulate import tabulate

from harness.errors import HarnessError, UsageError
from harness.models import cache, zoo
from harness.models.catalogue import MODELS, Model, model, resolve
from harness.models.errors import ModelDamaged, ModelMissing
from harness.models.memory import Origin

USAGE, CANNOT = 2, 3


def main(argv: Sequence[str]) -> int:
    options = _parser().parse_args(argv)
    try:
        return int(options.act(options))
    except HarnessError as err:
        print(f"kvgate models: {err}", file=sys.stderr)
        return USAGE if isinstance(err, UsageError) else CANNOT


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="kvgate models", description="Models by name, each with a checksum, in one cache folder."
    )
    acts = parser.add_subparsers(required=True, metavar="list|fetch|make|path")
    acts.add_parser("list", help="every model, and whether it is here").set_defaults(act=_list)
    fetch = acts.add_parser("fetch", help="have it here: download it, or make it")
    make = acts.add_parser("make", help="make a zoo model, in the cache or elsewhere")
    path = acts.add_parser("path", help="print where it lies, checked; never downloads")
    for sub, act in ((fetch, _fetch), (make, _make), (path, _path)):
        sub.add_argument("names", nargs="+", metavar="NAME")
        sub.set_defaults(act=act)
    make.add_argument("--out", type=Path, metavar="DIR", help="write NAME.gguf there instead of into the cache")
    make.add_argument("--seed", type=int, default=None, help="another model of the same shape (with --out)")
    make.add_argument("--dtype", choices=tuple(zoo.Dtype), default=None, help="f32 unless said (with --out)")
    return parser


def _list(_options: argparse.Namespace) -> int:
    print(
        tabulate([_row(each) for each in MODELS], headers=("name", "memory", "from", "state", "sha256", "what it is"))
    )
    print(f"\ncache: {cache.root()} (KVGATE_CACHE moves it)")
    return 0


def _row(each: Model) -> tuple[str, ...]:
    try:
        state = f"here, {each.find().stat().st_size / cache.MIB:.1f} MB"
    except ModelMissing:
        state = "made on demand" if each.origin is Origin.MADE else "not here"
    except ModelDamaged:
        state = "damaged"
    return each.name, each.memory, each.origin, state, (each.sha256 or "its own")[:12], each.about


def _fetch(options: argparse.Namespace) -> int:
    for each in [model(name) for name in options.names]:
        print(each.provide())
    return 0


def _make(options: argparse.Namespace) -> int:
    wanted = [model(name) for name in options.names]
    for each in wanted:
        if each.origin is not Origin.MADE:
            raise UsageError(f"{each.name} is not made but fetched: kvgate models fetch {each.name}")
    if options.out is None and (options.seed is not None or options.dtype is not None):
        raise UsageError("the cache holds each zoo model once, with its own seed in f32; --seed and --dtype need --out")
    for each in wanted:
        print(each.provide() if options.out is None else _made_elsewhere(each.name, options))
    return 0


def _made_elsewhere(name: str, options: argparse.Namespace) -> Path:
    target: Path = options.out / f"{name}.gguf"
    seed = zoo.SEED if options.seed is None else options.seed
    zoo.write(name, target, seed=seed, dtype=zoo.Dtype(options.dtype or zoo.Dtype.F32))
    return target


def _path(options: argparse.Namespace) -> int:
    for name in options.names:
        print(resolve(name))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
