"""What the harness fills in where a scenario or a profile has braces."""

from pathlib import Path

from harness.plan import Addresses, Folders, template_values
from harness.profiles import TEMPLATES
from harness.scenario import PROVIDER_TEMPLATES, ROUTER_TEMPLATES


def test_every_template_that_may_be_written_has_a_value():
    values = template_values(Folders(Path("evidence"), Path("scratch")), Addresses())
    assert set(values) == set(ROUTER_TEMPLATES)
    assert set(PROVIDER_TEMPLATES) < set(ROUTER_TEMPLATES)
    assert set(PROVIDER_TEMPLATES) < set(TEMPLATES)
