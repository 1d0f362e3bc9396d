"""Hypothesis without its per-example deadline: a machine shared with other work is not a slow codec."""

from hypothesis import settings

settings.register_profile("wire", deadline=None)
settings.load_profile("wire")
