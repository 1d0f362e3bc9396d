"""The result as the published JSON, the form other programs read and the run folder keeps."""

from __future__ import annotations

import json

from harness.result import RunResult


def render(result: RunResult) -> str:
    return json.dumps(result.to_json(), indent=1, ensure_ascii=False) + "\n"


def read(text: str) -> RunResult:
    """The result that `render` wrote. ValueError says in one line what is wrong with `text`."""
    try:
        return RunResult.from_json(json.loads(text))
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error}") from None
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not a kvgate result: {type(error).__name__}: {error}") from None
