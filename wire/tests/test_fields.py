"""Fields out of what a peer sent: any JSON, any bytes, any depth give values or the peer's error, in few words."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from wire.errors import RemoteWireError
from wire.fields import objects, one_object, parse_object, text, whole

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
SHORT = 400


def tried(read, *args):
    """The value, or what the peer is told of its error."""
    try:
        return read(*args), None
    except RemoteWireError as error:
        return None, str(error)


def refused(read, *args):
    with pytest.raises(RemoteWireError) as error:
        read(*args)
    return str(error.value)


@given(JSON)
def test_an_object_is_itself_and_anything_else_is_refused(value):
    raw = json.dumps(value).encode()
    if isinstance(value, dict):
        assert parse_object(raw, "it") == value
    else:
        assert refused(parse_object, raw, "it") == "it is no JSON object"


@given(st.binary(max_size=200))
@example(b'{"a": NaN}')
@example(b'{"a": -Infinity}')
@example(b'{"a": 1}{')
@example(b'\xef\xbb\xbf{"a": 1}')
@example(b'{"a": "\xff"}')
@example(b'{"a": ' + b"9" * 5000 + b"}")
def test_any_bytes_give_an_object_or_the_peers_error(raw):
    found, error = tried(parse_object, raw, "it")
    assert isinstance(found, dict) if error is None else error.startswith("it is no JSON")


@given(st.lists(st.sampled_from([b"[", b'{"a":']), min_size=1, max_size=4), st.integers(1, 50_000), st.booleans())
def test_no_depth_is_more_than_the_peers_error(opening, depth, closed):
    opened = b"".join(opening) * depth
    ends = b"".join(b"]" if part == b"[" else b"}" for part in reversed(opening)) * depth
    raw = b'{"deep":' + opened + (b"1" + ends + b"}" if closed else b"")
    found, error = tried(parse_object, raw, "it")
    assert "deep" in found if error is None else len(error) < SHORT


@given(JSON, st.integers(-9, 9), st.integers(0, 9))
def test_a_whole_number_is_within_its_bounds_and_a_truth_value_is_none(value, low, span):
    if type(value) is int and low <= value <= low + span:
        assert whole(value, "n", low, low + span) == value
    else:
        said = refused(whole, value, "n", low, low + span)
        assert said.startswith("n is ")
        assert len(said) < SHORT


@given(JSON, st.integers(1, 20))
def test_a_text_is_printable_and_not_too_long(value, most):
    found, error = tried(text, value, "name", most)
    if error is None:
        assert found == value
        assert 1 <= len(found) <= most
        assert found.isprintable()
    else:
        assert len(error) < SHORT


@given(JSON, st.integers(1, 3))
def test_lists_of_objects_and_objects(value, most):
    good = isinstance(value, list) and 1 <= len(value) <= most and all(isinstance(one, dict) for one in value)
    if good:
        assert objects(value, "items", most) == value
    else:
        assert refused(objects, value, "items", most).startswith("items")
    if isinstance(value, dict):
        assert one_object(value, "it") == value
    else:
        assert refused(one_object, value, "it").endswith("not an object")


def test_a_number_too_long_to_be_shown_is_told_by_its_size():
    assert "a number of 20000 bits" in refused(whole, (1 << 20_000) - 1, "n", 0, 9)
