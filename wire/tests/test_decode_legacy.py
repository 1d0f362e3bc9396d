"""The older DECODE generations: nine-byte token frames, and pieces of text without an end."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wire.decode_legacy import (
    PieceDecoder,
    TokenFrame,
    TokenFrameDecoder,
    encode_piece,
    encode_token_frame,
)
from wire.errors import LocalWireError, RemoteWireError

tokens = st.lists(st.integers(0, 2**32 - 1), max_size=6)


def test_a_token_frame_byte_by_byte():
    data = encode_token_frame(TokenFrame(token=7, logprob=-0.5, final=True))
    assert data == bytes.fromhex("07000000 000000bf 01")


def framed(ids):
    return [TokenFrame(token, -0.25, final=at == len(ids) - 1) for at, token in enumerate(ids)]


@given(tokens, st.integers(1, 60))
def test_any_chunking_gives_the_same_frames(ids, size):
    data = b"".join(map(encode_token_frame, framed(ids)))
    decoder = TokenFrameDecoder(len(data))
    seen = [frame for at in range(0, len(data), size) for frame in decoder.receive(data[at : at + size])]
    decoder.close()
    assert seen == framed(ids)


@pytest.mark.parametrize("length", [1, 8, 10])
def test_a_payload_of_another_size_is_refused_at_once(length):
    with pytest.raises(RemoteWireError, match="9-byte frames"):
        TokenFrameDecoder(length)


@pytest.mark.parametrize(
    ("finals", "named"),
    [([False, False], "no final flag"), ([True, True], "1 frames to come"), ([True, False], "1 frames to come")],
)
def test_exactly_one_final_flag_and_on_the_last_frame(finals, named):
    data = b"".join(encode_token_frame(TokenFrame(1, 0.0, final)) for final in finals)
    with pytest.raises(RemoteWireError, match=named):
        TokenFrameDecoder(len(data)).receive(data)


def test_a_cut_at_every_byte_of_the_frames_is_an_error():
    data = b"".join(map(encode_token_frame, framed([1, 2])))
    for end in range(len(data)):
        decoder = TokenFrameDecoder(len(data))
        decoder.receive(data[:end])
        with pytest.raises(RemoteWireError):
            decoder.close()


def test_a_frame_behind_the_announced_ones_is_an_error():
    data = encode_token_frame(TokenFrame(1, 0.0, final=True))
    with pytest.raises(RemoteWireError, match="behind"):
        TokenFrameDecoder(len(data)).receive(data + data)


def test_a_frame_without_room_is_ours_to_blame():
    for frame in (TokenFrame(2**32, 0.0, final=True), TokenFrame(1, 1e300, final=True)):
        with pytest.raises(LocalWireError):
            encode_token_frame(frame)


@given(st.lists(st.binary(max_size=9)), st.integers(1, 30))
def test_any_chunking_gives_the_same_pieces_without_the_empty_ones(pieces, size):
    data = b"".join(map(encode_piece, pieces))
    decoder = PieceDecoder()
    seen = [piece for at in range(0, len(data), size) for piece in decoder.receive(data[at : at + size])]
    decoder.close()
    assert seen == [piece for piece in pieces if piece]


def test_a_piece_cut_anywhere_is_an_error_but_between_two_it_is_an_end():
    data = encode_piece("é".encode())
    for end in range(1, len(data)):
        decoder = PieceDecoder()
        decoder.receive(data[:end])
        with pytest.raises(RemoteWireError):
            decoder.close()


def test_a_huge_piece_is_refused_at_its_length():
    with pytest.raises(RemoteWireError, match="4294967295 bytes"):
        PieceDecoder().receive(b"\xff\xff\xff\xff")
    with pytest.raises(LocalWireError):
        encode_piece(bytes(1024 * 1024 + 1))
