"""Text made safe for HTML, and the few elements the page is made of."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from reports.printable import printable, printable_lines


def escaped(text: str) -> str:
    """Text on one line; control characters are shown as escapes."""
    return escape(printable(text))


def escaped_lines(text: str) -> str:
    """Text with its line ends kept, for elements that show them."""
    return "\n".join(escape(line) for line in printable_lines(text))


def table(head: Iterable[str], rows: Iterable[Iterable[str]], name: str = "") -> str:
    """A table of cells that are HTML already."""
    top = "".join(f'<th scope="col">{cell}</th>' for cell in head)
    body = "".join(f"<tr>{''.join(row)}</tr>" for row in rows)
    return f'<div class="wide"><table class="{name}"><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


def cell(content: str, kind: str = "") -> str:
    return f'<td class="{kind}">{content}</td>' if kind else f"<td>{content}</td>"


def code(text: str) -> str:
    return f"<code>{escaped(text)}</code>"
