"""A build that changes while it is tested is not noticed."""

from harness.proof import provenance

REPLACES = "harness"
TESTS = ("harness/proof/tests/test_provenance.py",)

provenance.has_moved = lambda before, looks: False
