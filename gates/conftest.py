"""The processes of a gate: one session for each module, and for each test a stage whose end is proved."""

import pytest

from gates.running import Stage
from harness.session import Session


@pytest.fixture(scope="module")
def session():
    with Session() as opened:
        yield opened


@pytest.fixture
def stage(session, tmp_path):
    opened = Stage(session, tmp_path)
    yield opened
    assert session.run(opened.end()) == []
