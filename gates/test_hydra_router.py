"""The suite `hydra_router`, one item a check."""

from harness.pytest_plugin import Suite

checks = Suite("hydra_router")
