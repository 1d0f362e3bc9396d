"""The provider contract: the request by hand, cuts, junk, and every claim a program may print."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wire.errors import LocalWireError, RemoteWireError
from wire.provider import (
    Claim,
    FileTarget,
    ProviderRequest,
    SharedTarget,
    decode_request,
    encode_claim,
    encode_request,
    last_claim,
)
from wire.region import Cells, Region, Tensor, layout_hash

K = Tensor("cache_k_l0", 0, 0, 32, "f16", 100)
TARGET = SharedTarget((7,), (Region(4096, 0, layout_hash([K])),), (K,), Cells(0, 30))
SHARED = ProviderRequest((1, 2, 3), TARGET, "toy", 1, 2, "f16", "f16", 32)
FILE = ProviderRequest((1, 2, 3), FileTarget("/tmp/x.bin"))
FILE_BY_HAND = {"v": 1, "route": "state-file", "tokens": [1, 2, 3], "n_past": 0, "state_file": "/tmp/x.bin"}
SHARED_BY_HAND = {
    "v": 1,
    "route": "shared",
    "model": "toy",
    "tokens": [1, 2, 3],
    "n_past": 0,
    "n_layer": 1,
    "n_stream": 2,
    "k_type": "f16",
    "v_type": "f16",
    "row_bytes": 32,
    "regions": [{"fd": 7, "size": 4096, "offset": 0, "layout": layout_hash([K])}],
    "tensors": [{"name": "cache_k_l0", "region": 0, "offset": 0, "row_bytes": 32, "type": "f16", "n_cells": 100}],
    "cells": {"first": 0, "count": 30},
}


def line(value: object) -> bytes:
    return json.dumps(value).encode() + b"\n"


def test_the_written_down_requests_decode_to_their_values():
    assert decode_request(line(FILE_BY_HAND)) == FILE
    assert decode_request(line(SHARED_BY_HAND)) == SHARED


def test_a_request_is_encoded_as_written_down():
    assert json.loads(encode_request(SHARED)) == SHARED_BY_HAND
    assert json.loads(encode_request(FILE)).items() >= FILE_BY_HAND.items()
    assert encode_request(FILE).count(b"\n") == 1


def test_every_cut_is_an_error():
    whole = encode_request(SHARED)
    for cut in range(len(whole)):
        with pytest.raises(RemoteWireError):
            decode_request(whole[:cut])


@pytest.mark.parametrize(
    "junk", [b"\n", b"[]\n", b"\xff\n", b"[" * 50_000 + b"\n", b'{"v": 1}\n', line(FILE_BY_HAND) + b"{}\n"]
)
def test_junk_and_what_follows_the_line_are_errors(junk):
    with pytest.raises(RemoteWireError):
        decode_request(junk)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"v": 2}, "v is 2"),
        ({"route": "plain"}, "route is 'plain'"),
        ({"tokens": [1, True]}, "tokens.1."),
        ({"tokens": [1, -1]}, "tokens.1."),
        ({"tokens": "1"}, "tokens"),
        ({"n_past": -1}, "n_past"),
        ({"state_file": ""}, "state_file"),
        ({"row_bytes": 1.5}, "row_bytes"),
    ],
)
def test_a_field_out_of_range_is_named(change, why):
    with pytest.raises(RemoteWireError, match=why):
        decode_request(line(FILE_BY_HAND | change))


def test_what_a_provider_would_refuse_is_our_own_error():
    with pytest.raises(LocalWireError, match="2 descriptors for 1 regions"):
        encode_request(ProviderRequest((1,), SharedTarget((7, 8), TARGET.regions, TARGET.tensors, TARGET.cells)))
    with pytest.raises(LocalWireError, match="cells"):
        encode_request(ProviderRequest((1,), SharedTarget((7,), TARGET.regions, TARGET.tensors, Cells(90, 11))))


@pytest.mark.parametrize(
    ("stdout", "claim"),
    [
        (b'{"n_tokens": 30, "prefill_ms": 1.5}\n', Claim(30, 1.5)),
        (b'log line\n\n{"n_tokens": 30}\n\n  \r\n', Claim(30)),
        (b'{"n_tokens": 29}\n{"n_tokens": 30}', Claim(30)),
        (b'{"n_tokens": -1}', Claim(-1)),
        (b'{"n_tokens": "30"}', Claim("30")),
        (b'{"n_tokens": true}', Claim(True)),
        (b'{"n_tokens": 29.5}', Claim(29.5)),
        (b'{"n_tokens": 1e30}', Claim(1e30)),
        (b'{"n_tokens": null}', Claim(None)),
    ],
)
def test_the_last_line_is_the_claim_whatever_it_says(stdout, claim):
    assert last_claim(stdout) == claim


def test_absurd_numbers_are_claims_and_not_silence():
    nan = last_claim(b'{"n_tokens": NaN}')
    assert nan is not None
    assert isinstance(nan.n_tokens, float)
    assert math.isnan(nan.n_tokens)
    assert last_claim(b'{"n_tokens": ' + b"9" * 6000 + b"}") == Claim(math.inf)


@pytest.mark.parametrize(
    "stdout",
    [
        b"",
        b"\n\n",
        b"prefill finished\n",
        b"[30]",
        b'{"tokens": 30}',
        b'{"n_tokens": 30}\ndone',
        b"\xff\xff",
        b"[" * 5000,
    ],
)
def test_no_object_or_no_count_is_no_claim(stdout):
    assert last_claim(stdout) is None


def test_a_line_of_more_than_64_kib_is_no_claim():
    front = b'{"n_tokens": 30, "x": "'
    assert last_claim(front + b"x" * (65536 - len(front) - 2) + b'"}') == Claim(30)
    assert last_claim(front + b"x" * (65536 - len(front) - 1) + b'"}') is None


@given(
    st.lists(st.integers(0, (1 << 31) - 1), max_size=20),
    st.text("abc/.", min_size=1, max_size=20),
    st.integers(0, 1 << 24),
)
def test_encoded_requests_decode_to_themselves(tokens, path, n_past):
    request = ProviderRequest(tuple(tokens), FileTarget(path), n_past=n_past)
    assert decode_request(encode_request(request)) == request


@given(st.integers(), st.floats(allow_nan=False))
def test_encoded_claims_decode_to_themselves(count, milliseconds):
    claim = Claim(count, milliseconds)
    found = last_claim(b"noise\n" + encode_claim(claim))
    assert found is not None
    assert found.n_tokens == (count if len(str(count)) <= 100 else float(count))
    assert found.prefill_ms == milliseconds


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.sampled_from([*SHARED_BY_HAND, "state_file"]), JSON), st.booleans())
def test_any_json_in_its_fields_is_a_request_or_the_peers_error(fields, shared):
    try:
        found = decode_request(line((SHARED_BY_HAND if shared else FILE_BY_HAND) | fields))
    except RemoteWireError:
        return
    assert decode_request(encode_request(found)) == found


@given(st.binary(max_size=200))
def test_any_bytes_are_a_request_or_the_peers_error(data):
    with pytest.raises(RemoteWireError):
        decode_request(data)


@given(st.binary(max_size=200), st.booleans())
def test_any_output_is_a_claim_or_none(output, braced):
    data = b'{"n_tokens":' + output + b"}" if braced else output
    found = last_claim(data)
    assert found is None or isinstance(found, Claim)


@given(st.binary(max_size=60), JSON, st.sampled_from([b"", b"\n", b"  \r\n\n"]))
def test_whatever_comes_before_it_the_last_line_is_the_claim(noise, count, blank):
    found = last_claim(noise + b"\n" + json.dumps({"n_tokens": count}).encode() + blank)
    assert found is not None
    assert json.dumps(found.n_tokens) == json.dumps(count)


@given(st.sampled_from([b"[", b'{"n_tokens":']), st.integers(1, 60_000))
def test_output_of_any_depth_is_no_claim(opening, depth):
    assert last_claim(opening * depth) is None
