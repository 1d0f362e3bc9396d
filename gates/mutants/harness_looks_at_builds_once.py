"""A build that changes while it is tested is not noticed."""

from harness.proof.provenance import Provenance

REPLACES = "harness"
TESTS = ("harness/proof/tests/test_provenance.py",)

Provenance.moved_since = lambda self, before: ()  # type: ignore[method-assign]
