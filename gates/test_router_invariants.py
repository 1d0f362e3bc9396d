"""The suite `router_invariants`, one item a check: what a router must hold, whatever its decoders and clients do."""

from harness.pytest_plugin import Suite

checks = Suite("router_invariants")
