"""The result as one HTML page that is whole by itself: no network, no script, light and dark, phone to desktop."""

from reports.html.page import render

__all__ = ["render"]
