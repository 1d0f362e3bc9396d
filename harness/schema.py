"""The published JSON Schema of a scenario file, made from the very shapes that the loader reads with.

`harness/scenario.schema.json` is checked in; a test holds it to this. `python -m harness.schema` writes it anew.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from harness.checks.shape import EXPECTED, CheckShape
from harness.scenario_shape import shape

VERSION = 1
"""Within a version keys are added and never renamed, removed or given another meaning."""

RULE = (
    "A file that loads with one kvgate loads with every later one of the same schema version: keys are added, and "
    "never renamed, removed or given another meaning. The names of checks, suites and scenarios are yours."
)

FILE = Path(__file__).with_name("scenario.schema.json")


def schema() -> dict[str, Any]:
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:kvgate:scenario:{VERSION}",
        "title": "kvgate scenario",
        "$comment": RULE,
        **shape().schema(),
        "$defs": {
            "check": CheckShape().definition(),
            "look": CheckShape().look_definition(),
            "expectation": EXPECTED.definition(),
        },
    }


def text() -> str:
    return json.dumps(schema(), indent=1) + "\n"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
