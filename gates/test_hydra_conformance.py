"""The suite `hydra_conformance`, one item a check."""

from harness.pytest_plugin import Suite

checks = Suite("hydra_conformance")
