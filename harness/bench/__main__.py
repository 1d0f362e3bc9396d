"""`python -m harness.bench [NAME ...] [--write PAGE]`: measure, print, and keep the page."""

from __future__ import annotations

import argparse
import asyncio
import datetime
import os
import platform
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

from harness.bench import fake_decoder, others, region, router
from harness.bench.page import Row, page
from harness.bench.stage import Stage, stage

Measurement = Callable[[Stage], Awaitable[list[Row]]]

MEASUREMENTS: dict[str, Measurement] = {
    "fake-startup": fake_decoder.startup,
    "fake-throughput": fake_decoder.throughput,
    "fake-memory": fake_decoder.memory,
    "router-startup": router.startup,
    "router-latency": router.latency,
    "router-throughput": router.throughput,
    "router-memory": router.memory,
    "router-others": others.others,
    "region": region.handoff,
}


async def measure(names: list[str]) -> list[Row]:
    rows: list[Row] = []
    async with stage(dict(os.environ)) as where:
        for name in names:
            print(f"measuring {name}", file=sys.stderr, flush=True)
            for row in await MEASUREMENTS[name](where):
                print(f"  {row.what}: {row.measured} ({row.bound}) {row.verdict}", file=sys.stderr, flush=True)
                rows.append(row)
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m harness.bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(MEASUREMENTS)}; all by default")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="keep the results in this file")
    given = parser.parse_args()
    unknown = [name for name in given.names if name not in MEASUREMENTS]
    if unknown:
        parser.error(f"no measurement is called {unknown[0]!r}; there are {', '.join(MEASUREMENTS)}")
    rows = asyncio.run(measure(given.names or list(MEASUREMENTS)))
    machine = f"{os.cpu_count()} cores, Python {platform.python_version()}, Linux {platform.release()}"
    text = page(rows, machine, datetime.date.today().isoformat())
    if given.write:
        given.write.write_text(text)
    else:
        print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
