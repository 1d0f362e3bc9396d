"""The merged DECODE frame: prefix of the protocol text, segment table, caps, any chunking, every cut."""

import contextlib
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wire.decode import (
    MAX_HEADER_BYTES,
    ControlHeader,
    DecodeReader,
    KvChunk,
    PromptSegment,
    Segment,
    encode_control,
    encode_decode_head,
    segments_for,
)
from wire.errors import LocalWireError, RemoteWireError
from wire.hashes import RunningHash, encode_hash, maybe_hash, xxh3_64

META = {"n_past": 3, "tokenizer": "toy", "model_name": "toy", "model_quant": "f32", "model_capabilities": 0}
PROMPT = b'[{"role":"user","content":"hi"}]'
KV = bytes(range(40))


def frame(**changes):
    """A DECODE payload whose control header has some keys changed; None takes a key away."""
    segments = [{"id": "prompt", "offset": 0, "len": len(PROMPT)}, {"id": "kv", "offset": len(PROMPT), "len": len(KV)}]
    values = {"v": 3, "kv_metadata": META, "segments": segments} | changes
    control = json.dumps({key: value for key, value in values.items() if value is not None}).encode()
    return encode_control(control) + PROMPT + KV


def read(data, size=None):
    reader = DecodeReader(len(data))
    events = []
    for at in range(0, len(data), size or max(1, len(data))):
        events += reader.receive(data[at : at + (size or len(data))])
    reader.close()
    header, prompt, *chunks = events
    assert isinstance(header, ControlHeader)
    assert isinstance(prompt, PromptSegment)
    assert all(isinstance(chunk, KvChunk) for chunk in chunks)
    return header, prompt.data, b"".join(chunk.data for chunk in chunks)


def test_the_prefix_of_the_protocol_text():
    assert encode_control(b'{"v":3}') == bytes.fromhex("0700000044cf1d0cb03365cb") + b'{"v":3}'


def test_the_hash_of_nothing_and_its_text_form():
    assert xxh3_64(b"") == 0x2D06800538D394C2
    assert encode_hash(xxh3_64(b"")) == "xxh3:2d06800538d394c2"
    assert maybe_hash("xxh3:2D06800538d394c2") == 0x2D06800538D394C2
    assert maybe_hash("") is None


@pytest.mark.parametrize(
    "text", ["2d06800538d394c2", "xxh3:", "xxh3:12345678901234567", "xxh3:g", "sha256:00", "xxh3:+1"]
)
def test_a_hash_with_another_prefix_or_length_is_refused(text):
    with pytest.raises(RemoteWireError, match="xxh3:"):
        maybe_hash(text)


@given(st.lists(st.binary(max_size=30)))
def test_a_running_hash_is_the_hash_of_all_its_chunks(chunks):
    running = RunningHash()
    for chunk in chunks:
        running.update(chunk)
    assert running.value == xxh3_64(b"".join(chunks))


@given(st.binary(max_size=50), st.binary(max_size=50), st.integers(1, 200))
def test_any_chunking_gives_the_same_request(prompt, kv, size):
    prompt_segment, kv_segment = segments_for(prompt, len(kv), xxh3_64(kv))
    sent = ControlHeader(META, prompt_segment, kv_segment, model="m", generation={"n_predict": 4, "stop": ["x"]})
    assert read(encode_decode_head(sent, prompt) + kv, size) == (sent, prompt, kv)


def test_a_cut_at_every_byte_is_an_error():
    data = frame()
    for end in range(len(data)):
        reader = DecodeReader(len(data))
        reader.receive(data[:end])
        with pytest.raises(RemoteWireError):
            reader.close()


def test_no_kv_segment_means_what_the_slot_holds():
    control = json.dumps(
        {"v": 3, "kv_metadata": META, "segments": [{"id": "prompt", "offset": 0, "len": len(PROMPT)}]}
    ).encode()
    header, prompt, kv = read(encode_control(control) + PROMPT)
    assert (header.kv, prompt, kv) == (Segment("kv", len(PROMPT), 0), PROMPT, b"")


def rows(*rows):
    return [
        {"id": row[0], "offset": row[1], "len": row[2], **({"hash": row[3]} if len(row) > 3 else {})} for row in rows
    ]


P, K = len(PROMPT), len(KV)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"v": 2}, "v is 2"),
        ({"v": "3"}, "v is '3'"),
        ({"v": True}, "v is True"),
        ({"v": None}, "no v"),
        ({"kv_metadata": None, "segments": None}, "no kv_metadata and no segments"),
        ({"kv_metadata": []}, "kv_metadata"),
        ({"generation": 7}, "generation"),
        ({"model": 7}, "model"),
        ({"segments": {}}, "segments"),
        ({"segments": []}, "segments"),
        ({"segments": rows(("prompt", 0, P), ("kv", P, K), ("kv", P + K, 0), ("kv", P + K, 0))}, "a list of 4"),
        ({"segments": rows(("prompt", 0, P), ("kv", P, K - 1), ("kv", P + K - 1, 1))}, "'kv', 'kv'"),
        ({"segments": rows(("kv", 0, K), ("prompt", K, P))}, "'kv', 'prompt'"),
        ({"segments": rows(("prompt", 0, P), ("extra", P, K))}, "'extra'"),
        ({"segments": rows(("prompt", 0, P), ([], P, K))}, "neither 'prompt' nor 'kv'"),
        ({"segments": rows(("prompt", 1, P), ("kv", P + 1, K))}, "starts at 1"),
        ({"segments": rows(("prompt", 0, P), ("kv", P + 1, K - 1))}, "starts at"),
        ({"segments": rows(("prompt", 0, P), ("kv", P, K - 1))}, "fill 71 bytes, 72 are there"),
        ({"segments": rows(("prompt", 0, P), ("kv", P, 2**32 + 1))}, "len of segment kv"),
        ({"segments": rows(("prompt", 0, 64 * 1024**2 + 1), ("kv", P, K))}, "len of segment prompt"),
        ({"segments": rows(("prompt", 0, -1), ("kv", P, K))}, "len of segment prompt"),
        ({"segments": rows(("prompt", 0, P), ("kv", P, K, "md5:00"))}, "xxh3:"),
        ({"segments": rows(("prompt", 0, P), ("kv", P, K, 7))}, "hash"),
    ],
)
def test_a_control_header_that_is_not_understood_is_refused_by_name(changes, named):
    with pytest.raises(RemoteWireError, match=named):
        read(frame(**changes))


@pytest.mark.parametrize(
    ("data", "named"),
    [
        (b"\0" * 11, "too short for its 12-byte prefix"),
        ((MAX_HEADER_BYTES + 1).to_bytes(4, "little") + bytes(8 + 2 * MAX_HEADER_BYTES), "at most 32768"),
        ((100).to_bytes(4, "little") + bytes(20), "in a payload of 24"),
        (bytes.fromhex("0700000044cf1d0cb03365cc") + b'{"v":3}', "hashes to cb6533b00c1dcf44, not to cc6533b00c1dcf44"),
        (encode_control(b"[]"), "no JSON object"),
        (encode_control(b"\xff"), "no JSON"),
    ],
)
def test_a_prefix_that_does_not_hold_is_refused(data, named):
    with pytest.raises(RemoteWireError, match=named):
        read(data)


def test_bytes_behind_the_kv_segment_are_an_error():
    data = frame()
    with pytest.raises(RemoteWireError, match="1 bytes behind"):
        DecodeReader(len(data)).receive(data + b"x")


def test_a_header_that_cannot_be_sent_is_ours_to_blame():
    prompt, kv = segments_for(PROMPT, 0)
    with pytest.raises(LocalWireError, match="32768"):
        encode_decode_head(ControlHeader(META, prompt, kv, generation={"stop": ["x" * MAX_HEADER_BYTES]}), PROMPT)
    with pytest.raises(LocalWireError, match="bytes of prompt"):
        encode_decode_head(ControlHeader(META, prompt, kv), PROMPT + b" ")


@given(st.integers(0, len(frame()) - 1), st.binary(min_size=1, max_size=4))
@settings(max_examples=300)
def test_a_changed_byte_gives_values_or_the_peers_error_and_nothing_else(at, junk):
    data = bytearray(frame())
    data[at : at + len(junk)] = junk
    with contextlib.suppress(RemoteWireError):
        read(bytes(data))
