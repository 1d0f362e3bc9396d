"""The published JSON Schema of a scenario file, made from the very shapes that the loader reads with.

`harness/scenario.schema.json` is checked in; a test holds it to this. `python -m harness.schema` writes it anew.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from harness.checks.shape import EXPECTED, CheckShape
from harness.scenario import shape

FILE = Path(__file__).with_name("scenario.schema.json")


def schema() -> dict[str, Any]:
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "kvgate scenario",
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
