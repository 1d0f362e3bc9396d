"""State blobs: the protocol text's own bytes, each reader check B1 to B11 by name, any chunking, every cut."""

import contextlib
import struct
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wire.blob import BlobV1, Checkpoint, CheckpointHead, RawKv, StateBlob, encode_blob, encode_v1
from wire.blob_forms import read_for_decode, read_for_put
from wire.blob_reader import BlobHead, BlobLimits, BlobPart, BlobReader, BlobRefused, Part, read_blob
from wire.errors import LocalWireError, RemoteWireError
from wire.hashes import xxh3_64

LIMITS = BlobLimits(n_ctx=64, n_vocab=300)
KV = bytes.fromhex("aabbccdd0000000011111111")
V2_VECTOR = bytes.fromhex("02 03000000 03000000 01000000 0f000000 ff000000 00 aabbccdd 00000000 11111111")
V3_VECTOR = bytes.fromhex(
    "03 03000000 03000000 01000000 0f000000 ff000000 03 00000000 02000000 0300000000000000 0400000000000000"
    "01020304 0000000000000000 aabbccdd 00000000 11111111"
)
V1_TRAP = bytes.fromhex("02010000 02000000 07000000 08000000 aabbccdd 00000000 11111111")
V2 = StateBlob(2, 3, (1, 15, 255), KV)
V3 = StateBlob(3, 3, (1, 15, 255), KV, Checkpoint(CheckpointHead(0, 2, 3, recurrent_only=True), b"\1\2\3\4"))


@st.composite
def blobs(draw):
    tokens = tuple(draw(st.lists(st.integers(0, 299), min_size=1, max_size=20)))
    version = draw(st.sampled_from([2, 3]))
    checkpoint = None
    if draw(st.booleans()):
        pos_max = draw(st.integers(0, len(tokens)))
        head = CheckpointHead(
            draw(st.integers(0, pos_max)),
            pos_max,
            draw(st.integers(0, len(tokens))),
            recurrent_only=version == 3 and draw(st.booleans()),
        )
        checkpoint = Checkpoint(head, draw(st.binary(max_size=20)), draw(st.binary(max_size=9)))
    return StateBlob(version, draw(st.integers(0, 64)), tokens, draw(st.binary(min_size=8, max_size=60)), checkpoint)


@pytest.mark.parametrize(
    ("data", "blob", "size", "digest"),
    [(V2_VECTOR, V2, 34, 0x87B67E2940492A5D), (V3_VECTOR, V3, 70, 0x134491B8A05F5FBA)],
    ids=["v2", "v3 recurrent-only"],
)
def test_the_vectors_of_the_protocol_text_both_ways(data, blob, size, digest):
    assert len(data) == size
    assert xxh3_64(data) == digest
    assert read_blob(data, LIMITS) == blob
    assert encode_blob(blob) == data


@given(blobs(), st.integers(1, 40))
def test_any_chunking_gives_the_same_blob(blob, size):
    data = encode_blob(blob)
    assert read_blob(data, LIMITS) == blob
    reader = BlobReader(len(data), LIMITS)
    rest = b""
    for at in range(0, len(data), size):
        for event in reader.receive(data[at : at + size]):
            if isinstance(event, BlobPart) and event.part is Part.REST:
                rest += event.data
    reader.close()
    assert rest == blob.rest


@given(blobs())
@settings(max_examples=30)
def test_a_cut_at_every_byte_is_an_error_announced_or_not(blob):
    data = encode_blob(blob)
    tail = len(blob.rest) - 8  # a shorter KV stream is a legal blob: only its hash or its reader can tell
    for end in range(len(data)):
        reader = BlobReader(len(data), LIMITS)
        reader.receive(data[:end])
        with pytest.raises(RemoteWireError):
            reader.close()
        if end < len(data) - tail:
            with pytest.raises(RemoteWireError):
                read_blob(data[:end], LIMITS)


def test_bytes_behind_the_announced_end_are_an_error():
    with pytest.raises(RemoteWireError, match="1 bytes behind"):
        BlobReader(len(V2_VECTOR), LIMITS).receive(V2_VECTOR + b"x")


def head(version=2, n_past=3, n_tok=3):
    return struct.pack("<BII", version, n_past, n_tok)


TOKENS = struct.pack("<3i", 1, 15, 255)


def with_checkpoint(pos_min=0, pos_max=2, n_tokens=3, target=0, draft=0, *, body=b"", flags=1):
    checkpoint = struct.pack("<iiqQ", pos_min, pos_max, n_tokens, target) + body + struct.pack("<Q", draft)
    return head(3) + TOKENS + bytes((flags,)) + checkpoint + KV


@pytest.mark.parametrize(
    ("check", "data"),
    [
        ("B1", b""),
        ("B2", b"\x02"),
        ("B2", V2_VECTOR[:9]),
        ("B2", b"\x04" + V2_VECTOR[1:]),
        ("B3", head(n_tok=0xFFFFFFFF) + TOKENS + b"\0" + KV),
        ("B3", head(n_tok=7) + TOKENS + b"\0" + KV),
        ("B4", head(n_past=64, n_tok=65) + bytes(4 * 65) + b"\0" + KV),
        ("B5", head(n_past=65) + TOKENS + b"\0" + KV),
        ("B6", head(n_past=3, n_tok=0) + b"\0"),
        ("B6", head(n_past=0, n_tok=0) + b"\0" + KV),
        ("B7", head() + struct.pack("<3i", 1, 300, 2) + b"\0" + KV),
        ("B7", head() + struct.pack("<3i", 1, -1, 2) + b"\0" + KV),
        ("B8", head() + TOKENS + b"\x80" + KV),
        ("B8", head(3) + TOKENS + b"\x02" + KV),
        ("B8", head(2) + TOKENS + b"\x03" + KV + bytes(32)),
        ("B9", head() + TOKENS + b"\x01" + KV),
        ("B9", with_checkpoint(target=2**64 - 8)),
        ("B9", with_checkpoint(target=13)),
        ("B9", with_checkpoint(draft=13)),
        ("B9", with_checkpoint(draft=2**64 - 1)),
        ("B10", with_checkpoint(pos_max=4)),
        ("B10", with_checkpoint(pos_min=-1)),
        ("B10", with_checkpoint(pos_min=3)),
        ("B10", with_checkpoint(n_tokens=4)),
        ("B10", with_checkpoint(n_tokens=-1)),
        ("B11", head() + TOKENS + b"\0" + KV[:7]),
        ("B11", head(n_past=0, n_tok=0) + b"\0"),
        ("B11", with_checkpoint(draft=5)),
    ],
)
def test_each_check_refuses_what_it_names(check, data):
    with pytest.raises(BlobRefused) as refused:
        read_blob(data, LIMITS)
    assert refused.value.check == check


def test_what_the_checks_allow_at_their_edges():
    assert read_blob(with_checkpoint(pos_min=3, pos_max=3), LIMITS).checkpoint.head.pos_max == 3
    assert read_blob(with_checkpoint(target=12, body=bytes(12)), LIMITS).checkpoint.target == bytes(12)
    assert read_blob(head(n_past=0) + TOKENS + b"\0" + KV[:8], LIMITS).n_past == 0
    assert len(read_blob(head(n_past=64, n_tok=64) + bytes(4 * 64) + b"\0" + KV, LIMITS).tokens) == 64


def test_a_prefill_blob_whose_n_past_is_not_its_token_count_is_refused():
    limits = BlobLimits(64, 300, from_prefill=True)
    assert read_blob(V2_VECTOR, limits) == V2
    with pytest.raises(BlobRefused, match="n_past 4 in a PREFILL blob of 3"):
        read_blob(head(n_past=4) + TOKENS + b"\0" + KV, limits)


def test_a_blob_of_gigabytes_is_inspected_without_being_kept():
    reader = BlobReader(2 * 1024**3, LIMITS)
    (seen,) = reader.receive(head(3) + TOKENS + b"\0")
    assert seen == BlobHead(3, 3, (1, 15, 255), 0)
    chunk = bytes(1024 * 1024)
    tracemalloc.start()
    for _ in range(64):
        assert reader.receive(chunk) == [BlobPart(Part.REST, chunk)]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 * len(chunk)


def test_the_token_list_is_refused_before_it_is_waited_for():
    """4 GiB of announced tokens: the head alone is enough to say no."""
    with pytest.raises(BlobRefused, match="B4"):
        BlobReader(8 * 1024**3, LIMITS).receive(head(n_tok=2**30))


def test_the_v1_trap_is_not_taken_for_v2():
    with pytest.raises(BlobRefused, match="B3"):
        read_for_decode(V1_TRAP, LIMITS)
    with pytest.raises(BlobRefused):
        read_for_put(V1_TRAP, LIMITS)


def test_v1_is_known_to_state_put_only_even_where_it_starts_like_v2():
    limits = BlobLimits(n_ctx=300, n_vocab=300)
    old = BlobV1(258, (7,) * 258, KV)
    assert read_for_put(encode_v1(old), limits) == old
    with pytest.raises(BlobRefused):
        read_for_decode(encode_v1(old), limits)


@pytest.mark.parametrize("n_past", [1, 9])
def test_v1_whose_n_past_is_not_its_token_count_is_refused(n_past):
    with pytest.raises(BlobRefused, match="B5"):
        read_for_put(encode_v1(BlobV1(n_past, (4, 5), KV)), LIMITS)


def test_raw_kv_is_known_to_decode_only():
    assert read_for_decode(KV, LIMITS) == RawKv(KV)
    with pytest.raises(BlobRefused):
        read_for_put(KV, LIMITS)
    with pytest.raises(BlobRefused, match="B11"):
        read_for_decode(KV[:7], LIMITS)


def test_bytes_that_pass_as_two_forms_are_refused():
    """258 zero tokens in v1 read as v2 with n_past 0x02000001 and one token, if the slot is that large."""
    data = encode_v1(BlobV1(258, (0,) * 258, KV))
    assert read_for_put(data, BlobLimits(n_ctx=2**25, n_vocab=300)) == BlobV1(258, (0,) * 258, KV)
    with pytest.raises(BlobRefused, match="as v2/v3 and as v1"):
        read_for_put(data, BlobLimits(n_ctx=2**26, n_vocab=300))


@pytest.mark.parametrize(
    "blob",
    [
        StateBlob(1, 3, (1,), KV),
        StateBlob(2, 3, (1,), KV, V3.checkpoint),
        StateBlob(2, -1, (1,), KV),
        StateBlob(2, 1, (2**31,), KV),
        StateBlob(3, 1, (1,), KV, Checkpoint(CheckpointHead(2**31, 0, 0, recurrent_only=False), b"")),
    ],
)
def test_a_blob_that_cannot_be_written_is_ours_to_blame(blob):
    with pytest.raises(LocalWireError):
        encode_blob(blob)


@given(st.binary(max_size=120), st.booleans())
@settings(max_examples=500)
def test_junk_gives_values_or_the_peers_error_and_nothing_else(data, mutate):
    if mutate:
        cut = len(data) % len(V3_VECTOR)
        data = V3_VECTOR[:cut] + data[:4] + V3_VECTOR[cut + len(data[:4]) :]
    for read in (read_blob, read_for_put, read_for_decode):
        with contextlib.suppress(RemoteWireError):
            read(data, LIMITS)
