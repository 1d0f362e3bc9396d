"""Nothing in the production packages exists for a fake, a toy model or a mutant."""

import re
from pathlib import Path

import router
import wire

FORBIDDEN = re.compile(r"FAKE_|\bfakes?\b|\btoy|mutant|pytest|under_test", re.IGNORECASE)


def test_production_code_knows_no_fake_no_toy_and_no_mutant():
    sources = [
        path
        for package in (router, wire)
        for path in Path(package.__file__).parent.rglob("*.py")
        if "tests" not in path.parts
    ]
    assert len(sources) > 40
    found = [
        f"{path}:{number}: {line.strip()}"
        for path in sources
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if FORBIDDEN.search(line)
    ]
    assert found == []
