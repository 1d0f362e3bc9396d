"""The toy tokenizer: nothing is lost, whatever the text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakes.tokenizer import BOS_ID, EOS_ID, MAX_VOCAB, MIN_VOCAB, TURN_END_ID, TURN_START_ID, Tokenizer

TOKENIZER = Tokenizer(2048)


@given(st.text(), st.booleans())
def test_text_comes_back_as_it_was(text, parse_special):
    assert TOKENIZER.decode(TOKENIZER.encode(text, parse_special=parse_special)).decode() == text


@given(st.text(max_size=40), st.sampled_from([MIN_VOCAB, 700, 2048]))
def test_ids_stay_inside_the_vocabulary(text, vocab):
    assert all(0 <= token < vocab for token in Tokenizer(vocab).encode(text))


def test_common_words_are_one_token_each():
    assert len(TOKENIZER.encode(" the river and the otter")) == 5


def test_special_tokens_are_parsed_only_when_asked_for():
    text = "<|im_start|>user</s><|im_end|>"
    ids = TOKENIZER.encode(text)
    assert (ids[0], ids[-2], ids[-1]) == (TURN_START_ID, EOS_ID, TURN_END_ID)
    assert not {TURN_START_ID, EOS_ID, TURN_END_ID} & set(TOKENIZER.encode(text, parse_special=False))


def test_bos_stands_in_front_only_when_asked_for():
    assert TOKENIZER.encode("river", add_special=True) == [BOS_ID, *TOKENIZER.encode("river")]
    assert TOKENIZER.encode("", add_special=True) == [BOS_ID]


def test_every_piece_is_there_once_and_every_id_has_one():
    tokenizer = Tokenizer(MAX_VOCAB)
    pieces = [tokenizer.piece(token) for token in range(MAX_VOCAB)]
    assert len(set(pieces)) == MAX_VOCAB
    for token in (-1, MAX_VOCAB):
        with pytest.raises(IndexError):
            tokenizer.piece(token)


def test_a_larger_vocabulary_keeps_the_ids_of_a_smaller_one():
    small = Tokenizer(700)
    assert [small.piece(token) for token in range(700)] == [TOKENIZER.piece(token) for token in range(700)]


def test_answer_words_are_plain_text_with_a_space_in_front():
    words = [TOKENIZER.piece(token) for token in TOKENIZER.words]
    assert len(words) > 300
    assert all(word.startswith(b" ") and word[1:].isalpha() and word.islower() for word in words)
