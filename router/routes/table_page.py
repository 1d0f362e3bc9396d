"""Writes the decision table as a page: `python -m router.routes.table_page > docs/decision-table.md`."""

from __future__ import annotations

from router.request_body import WHY_TEXT, Why
from router.routes.choose import TABLE, TAILS, Next

HEAD = """# What the router does when a step of a handoff fails

Generated from `router/routes/choose.py` by `python -m router.routes.table_page`; a test holds this page against it.

Each line goes to stderr behind `hybrid: `, followed by `; ` and the tail of what is done next. A `{body}` is one line,
control characters escaped, cut at 300 bytes.

| what is done next | tail of the line |
|---|---|
"""

MIDDLE = """
The state-file route is taken for that request alone and once; where none is configured, plain stands in its place.
Under `--strict` every `plain` below is a refusal instead (502). Before a plain request, and before the state-file
route, a slot whose content is in doubt is erased.

| step | outcome | next | line |
|---|---|---|---|
"""

KEPT = """
## Prompts that are not handed over

Nothing failed here: the decoder prefills such a prompt itself, and under `--strict` the request is refused (400). The
word stands in `X-KVGate-Reason`, the line is `hybrid: not handed over: ` and the text.

| reason | text |
|---|---|
"""


def page() -> str:
    """The whole page."""
    tails = "".join(f"| {next_} | {f'`{tail}`' if tail else '(none)'} |\n" for next_, tail in TAILS.items())
    rows = "".join(
        f"| {step} | {outcome} | {row.next} | `{row.words.replace('{step}', step)}` |\n"
        for (step, outcome), row in TABLE.items()
    )
    kept = "".join(f"| {why} | {text} |\n" for why, text in WHY_TEXT.items())
    return HEAD + tails + MIDDLE + rows + KEPT + kept


assert set(WHY_TEXT) == set(Why)


assert set(TAILS) == set(Next)

if __name__ == "__main__":
    print(page(), end="")
