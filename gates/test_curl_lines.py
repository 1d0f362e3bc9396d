"""Plain `curl` gets answers of the same status, type and shape from the fake and from a real server."""

import pytest

from gates.curl import answers, lines
from gates.shapes import a_real_server, the_fake, unless_missing

TABLE = lines()
pytestmark = pytest.mark.xdist_group("curl")


@pytest.fixture(scope="module")
def fake(request):
    with unless_missing(request.config):
        return answers(the_fake())


@pytest.mark.parametrize("line", TABLE, ids=lambda line: line.says)
def test_the_fake_answers_as_the_protocol_says(fake, line):
    found = fake[line.says]
    assert found.status == line.status
    assert found.keys >= set(line.has)


def test_every_line_has_a_name_of_its_own():
    assert len({line.says for line in TABLE}) == len(TABLE)


BUILDS = {"b11549": ("", "xllamacpp"), "b11063": ("--fake-version b11063", "xllamacpp==2026.9.11063")}


@pytest.mark.real
@pytest.mark.parametrize("build", BUILDS)
def test_a_real_server_answers_the_same(build, request):
    flags, name = BUILDS[build]
    with unless_missing(request.config):
        real, fake = answers(a_real_server(request.config, name)), answers(the_fake(flags))
    assert [line.says for line in TABLE if real[line.says].status != line.status] == []
    differing = {says for says in real if real[says] != fake[says]}
    for line in TABLE:
        if not line.differs:
            assert fake[line.says] == real[line.says], line.says
    assert differing == {line.says for line in TABLE if line.differs}, "the list of differences may only shrink"
