"""Prompts of an exact size, on tokenizers that cut differently."""

import asyncio
from random import Random

import pytest

from harness.errors import HarnessError
from harness.prompts import sized


def by(cut, before=()):
    async def count(text):
        return (*before, *cut(text))

    return count


def pairs(text):
    """Two letters a token, as a tokenizer without words has it."""
    return [text[at : at + 2] for at in range(0, len(text), 2)]


TOKENIZERS = {
    "a word is a token": by(str.split),
    "a template around it": by(str.split, before=range(17)),
    "a word is several tokens": by(pairs, before=range(5)),
    "a byte is a token": by(list),
}


@pytest.mark.parametrize("tokens", [18, 30, 31, 32, 33, 200])
@pytest.mark.parametrize("tokenizer", TOKENIZERS)
def test_the_size_is_exact(tokenizer, tokens):
    text, ids = asyncio.run(sized(tokens, Random(1), TOKENIZERS[tokenizer]))
    assert len(ids) == tokens
    assert text


def test_the_seed_makes_the_words():
    count = by(str.split)
    made = [asyncio.run(sized(30, Random(seed), count))[0] for seed in (1, 1, 2)]
    assert made[0] == made[1] != made[2]


def test_a_size_below_the_template_is_an_error():
    with pytest.raises(HarnessError, match="one word alone is 18"):
        asyncio.run(sized(10, Random(1), by(str.split, before=range(17))))


def test_a_size_that_cannot_be_had_is_an_error():
    with pytest.raises(HarnessError, match="no prompt of exactly 30"):
        asyncio.run(sized(30, Random(1), by(lambda text: text.split() * 7)))
