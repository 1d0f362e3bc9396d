"""`python -m gates.load`: run a campaign, say what was found. Exit status 1 where something did not hold."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import uvloop

from gates.load.campaign import campaign
from gates.load.judge import judge
from gates.load.options import Options, read


def main() -> int:
    options = read(sys.argv[1:])
    if options.folder is not None:
        options.folder.mkdir(parents=True, exist_ok=True)
        return _run(options, options.folder.resolve())
    with tempfile.TemporaryDirectory(prefix="kvl-") as folder:
        return _run(options, Path(folder))


def _run(options: Options, folder: Path) -> int:
    evidence = uvloop.run(campaign(options, folder))
    findings = judge(evidence)
    print(
        f"{len(evidence.seen)} requests in {evidence.wall_s:.1f} s, {len(evidence.seen) / evidence.wall_s:.0f} a second"
    )
    for finding in findings:
        print(finding)
    return 0 if all(finding.holds for finding in findings) else 1


if __name__ == "__main__":
    raise SystemExit(main())
