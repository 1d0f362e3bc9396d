"""`kvgate report RUN`: see `reports.command`."""

from reports.command import add_arguments, run

__all__ = ["add_arguments", "run"]
