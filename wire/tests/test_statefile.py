"""Save files: those of a real server, both token forms, cuts, junk, and the encoders."""

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wire.attention import AttentionState, Layer, TransposedLayer, decode_attention, encode_attention
from wire.errors import LocalWireError, RemoteWireError
from wire.statefile import StateFile, TokenForm, decode_statefile, encode_statefile, read_head

CAPTURED = Path(__file__).parent / "captured"
SMALL_STATE = AttentionState(
    n_stream=2,
    stream=1,
    seq_id=1,
    positions=(0, 1),
    keys=(Layer(1, 4, b"kkkkKKKK"),),
    values=(Layer(1, 2, b"vvVV"),),
)
SMALL = StateFile((7, 8), TokenForm.COUNTED, encode_attention(SMALL_STATE))

# Written out by hand from the layout: 2 streams, none of the first, 2 cells of the second, 1 layer.
SMALL_BYTES = bytes.fromhex(
    "71736767 04000000 06000000 ffffffff 01000000 02000000 07000000 08000000 00000000"
    "02000000 00000000 02000000"
    "00000000 01000000 01000000 01000000 01000000 01000000"
    "00000000 01000000 00000000 00000000"
    "01000000 0400000000000000 6b6b6b6b4b4b4b4b"
    "01000000 0200000000000000 76765656"
)


def test_the_layout_is_the_written_down_one():
    assert encode_statefile(SMALL) == SMALL_BYTES
    assert decode_statefile(SMALL_BYTES) == SMALL
    assert decode_attention(SMALL.state) == SMALL_STATE


@pytest.mark.parametrize(
    ("name", "tokens", "stream", "size"),
    [("slot0.bin", (504,), 0, 23_832), ("slot1.bin", (504, 4626), 1, 46_888), ("empty.bin", (), 0, 40)],
)
def test_the_files_of_a_real_server_decode_to_what_it_saved(name, tokens, stream, size):
    data = (CAPTURED / name).read_bytes()
    assert len(data) == size
    file = decode_statefile(data)
    assert (file.tokens, file.form, file.version) == (tokens, TokenForm.COUNTED, 4)
    state = decode_attention(file.state)
    assert (state.n_stream, state.stream, state.positions) == (2, stream, tuple(range(len(tokens))))
    if tokens:
        assert len(state.keys) == len(state.values) == 30
        assert {(layer.type, layer.row_bytes) for layer in (*state.keys, *state.values)} == {(1, 384)}
        assert state.seq_id == stream


@pytest.mark.parametrize("name", ["slot0.bin", "slot1.bin", "empty.bin"])
def test_encoding_a_real_servers_file_again_gives_its_bytes(name):
    data = (CAPTURED / name).read_bytes()
    file = decode_statefile(data)
    assert encode_statefile(file) == data
    assert encode_attention(decode_attention(file.state)) == file.state


def test_the_first_token_has_the_same_rows_whichever_slot_saved_it():
    states = [decode_attention(decode_statefile((CAPTURED / f"slot{i}.bin").read_bytes()).state) for i in (0, 1)]
    assert states[0].keys[0].rows == states[1].keys[0].rows[:384]


def test_the_bare_form_is_read_and_written():
    data = struct.pack("<III3i", 0x67677371, 2, 3, 5, 6, 7) + b"state"
    file = StateFile((5, 6, 7), TokenForm.BARE, b"state", version=2)
    assert decode_statefile(data) == file
    assert encode_statefile(file) == data


def test_every_cut_is_an_error():
    for cut in range(len(SMALL_BYTES)):
        with pytest.raises(RemoteWireError):
            decode_attention(decode_statefile(SMALL_BYTES[:cut]).state)


def test_bytes_after_the_end_are_an_error():
    with pytest.raises(RemoteWireError, match="1 bytes after the end"):
        decode_attention(decode_statefile(SMALL_BYTES + b"x").state)


@pytest.mark.parametrize(
    ("at", "value", "why"),
    [
        (0, 1, "not a state file"),
        (8, 1 << 25, "token payload of"),
        (8, 3, "at least 4"),
        (16, 2, "token payload format 2"),
        (20, 3, "3 tokens counted in a payload that has room for 2"),
        (24, 0xFFFFFFFE, "negative token"),
        (32, 1, "1 media items"),
    ],
)
def test_a_head_that_contradicts_itself_is_an_error(at, value, why):
    data = bytearray(SMALL_BYTES)
    struct.pack_into("<I", data, at, value)
    with pytest.raises(RemoteWireError, match=why):
        decode_statefile(bytes(data))


@pytest.mark.parametrize(
    ("at", "value", "why"),
    [
        (36, 0, "0 streams"),
        (36, 1000, "1000 streams"),
        (40, 0x40000000, "1073741824 cells"),
        (52, 2, "2 sequence ids"),
        (56, 9, "9 the first|one"),
        (48, 0xFFFFFFFF, "at position -1"),
        (72, 2, "v_trans is 2"),
        (76, 5000, "5000 layers"),
        (76, 2, "cut|row|wanted"),
        (92, 0xFFFFFFFF, "cut in its K of layer 0"),
    ],
)
def test_a_state_whose_lengths_lie_is_an_error_before_memory_is_taken(at, value, why):
    data = bytearray(SMALL_BYTES)
    struct.pack_into("<I", data, at, value)
    with pytest.raises(RemoteWireError, match=why):
        decode_attention(decode_statefile(bytes(data)).state)


def test_the_head_is_read_without_the_state():
    assert read_head(SMALL_BYTES[:24]).n_tokens == 2
    assert read_head((CAPTURED / "slot1.bin").read_bytes()[:24]).n_tokens == 2
    assert read_head(SMALL_BYTES).state_offset == 36


def test_a_transposed_cache_is_read_and_written():
    values = (TransposedLayer(1, 2, 3, b"y" * 12),)
    state = AttentionState(1, positions=(0, 1), v_trans=True, keys=(Layer(0, 4, b"x" * 8),), values=values)
    assert decode_attention(encode_attention(state)) == state


@pytest.mark.parametrize(
    "file",
    [
        StateFile((-1,), TokenForm.COUNTED, b""),
        StateFile((1 << 31,), TokenForm.BARE, b""),
        StateFile((1,), TokenForm.BARE, b"", version=-1),
    ],
    ids=["negative token", "wide token", "version"],
)
def test_a_file_that_a_reader_would_refuse_is_our_own_error(file):
    with pytest.raises(LocalWireError):
        encode_statefile(file)


@pytest.mark.parametrize(
    "state",
    [
        AttentionState(0),
        AttentionState(1, stream=1),
        AttentionState(1, positions=(0,), keys=(Layer(1, 4, b"abc"),), values=(Layer(1, 1, b"a"),)),
        AttentionState(1, positions=(0,), keys=(Layer(1, 1, b"a"),), values=()),
        AttentionState(1, positions=(-1,)),
    ],
    ids=["no stream", "stream out of range", "short row", "K without V", "negative position"],
)
def test_a_state_that_contradicts_itself_is_our_own_error(state):
    with pytest.raises(LocalWireError):
        encode_attention(state)


@given(
    st.lists(st.integers(0, (1 << 31) - 1), max_size=6),
    st.sampled_from(TokenForm),
    st.binary(max_size=40),
    st.integers(0, 9),
)
def test_encoded_files_decode_to_themselves(tokens, form, state, version):
    file = StateFile(tuple(tokens), form, state, version)
    decoded = decode_statefile(encode_statefile(file))
    assert decoded == file


@given(st.binary(max_size=120))
def test_no_bytes_raise_anything_but_a_wire_error(data):
    for junk in (data, SMALL_BYTES[:8] + data, SMALL_BYTES[:36] + data):
        try:
            decode_attention(decode_statefile(junk).state)
        except RemoteWireError:
            continue
