"""A declared fault that was reached and never fired is not noticed."""

from harness import judgement

REPLACES = "harness"
TESTS = ("harness/tests/test_judgement.py",)

judgement.faults_that_did_not_fire = lambda record: []
