"""Bodies of requests: any bytes, any depth, any value give a value or an answer that is an error."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fakes.api_error import ApiError
from fakes.body import INT32_MAX, flag, integer, number, parse_body, string

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=("Cs",))),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(st.text(st.characters(exclude_categories=("Cs",))), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


def tried(read, *args):
    """The value, or the answer that is an error."""
    try:
        return read(*args), None
    except ApiError as refused:
        return None, refused


@given(JSON)
def test_an_object_is_itself_and_anything_else_is_400(value):
    raw = json.dumps(value).encode()
    if isinstance(value, dict):
        assert parse_body(raw) == value
        return
    with pytest.raises(ApiError) as refused:
        parse_body(raw)
    assert refused.value.status == 400


@given(st.binary(max_size=200))
@example(b'{"a": NaN}')
@example(b'{"a": "\\ud800"}')
@example(b'{"a": 1} x')
@example(b"")
def test_any_bytes_give_an_object_or_400(raw):
    found, refused = tried(parse_body, raw)
    if refused is None:
        assert isinstance(found, dict)
    else:
        assert refused.status == 400
        assert json.loads(refused.body)["error"]["type"] == "invalid_request_error"


@given(st.sampled_from([b"[", b'{"a":', b'[{"a":']), st.integers(1, 100_000), st.booleans())
def test_no_depth_is_more_than_400(opening, depth, closed):
    ends = {b"[": b"]", b'{"a":': b"}", b'[{"a":': b"}]"}[opening]
    raw = b'{"deep":' + opening * depth + (b"1" + ends * depth + b"}" if closed else b"")
    found, refused = tried(parse_body, raw)
    assert "deep" in found if refused is None else refused.status == 400


@given(JSON)
def test_fields_are_of_their_type_or_400_and_null_is_the_default(value):
    for read, default, kinds in (
        (lambda body: flag(body, "x", True), True, bool),
        (lambda body: number(body, "x", 0.5), 0.5, (int, float)),
        (lambda body: integer(body, "x", 3, -1), 3, int),
        (lambda body: string(body, "x"), None, str),
    ):
        found, refused = tried(read, {"x": value})
        if refused is None:
            assert isinstance(found, kinds)
            assert found == default if value is None else found == value or found == int(value)
        else:
            assert refused.status == 400


@given(st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**30), 10**30))
def test_a_whole_number_is_cut_and_within_its_bounds(value):
    found, refused = tried(integer, {"n": value}, "n", 0, -1)
    if refused is None:
        assert found == int(value)
    else:
        assert refused.status == 400
        assert not -1 <= int(value) <= INT32_MAX
