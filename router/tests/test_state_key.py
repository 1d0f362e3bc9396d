"""What is seen of a state file before a decoder is asked to restore it."""

import hashlib

import pytest

from router.routes.choose import Outcome, StepFailed
from router.state_key import Key, inspect, kind_of
from wire.errors import RemoteWireError
from wire.statefile import AttentionState, Layer, StateFile, TokenForm, encode_attention, encode_statefile

TOKENS = (5, 6, 7)
F32, F16 = 0, 1


def file_of(tokens=TOKENS, *, key_type=F16, n_stream=2, form=TokenForm.COUNTED, version=4):
    rows = tuple(Layer(key_type, 8, bytes(8 * len(tokens))) for _ in range(2))
    state = AttentionState(n_stream, positions=tuple(range(len(tokens))), keys=rows, values=rows)
    return encode_statefile(StateFile(tuple(tokens), form, encode_attention(state), version))


def seen(path, data, key):
    """None where it may be restored, or the failure's outcome and words."""
    path.write_bytes(data)
    try:
        return inspect(path, key)
    except StepFailed as failure:
        return failure.outcome, failure.words


@pytest.fixture
def path(tmp_path):
    return tmp_path / "s.bin"


def kind(path, data):
    path.write_bytes(data)
    return kind_of(path)


@pytest.mark.parametrize("form", list(TokenForm))
def test_a_decoders_own_file_tells_what_it_reads(path, form):
    own = kind(path, file_of((1, 2), form=form))
    assert (own.version, own.layout.n_stream, own.layout.keys) == (4, 2, (("f16", 8), ("f16", 8)))
    assert seen(path, file_of(form=form), Key(TOKENS, own)) is None


@pytest.mark.parametrize("data", [b"", b"junk" * 9, file_of(())])
def test_a_file_that_holds_nothing_tells_nothing(path, data):
    with pytest.raises(RemoteWireError):
        kind(path, data)


@pytest.mark.parametrize(
    ("tokens", "words"),
    [((5, 9, 7), "token 1 is 9 and not 6"), ((5, 6), "2 of 3"), ((5, 6, 7, 8), "4 of 3"), ((), "0 of 3")],
)
def test_another_prompts_file_is_told_by_its_tokens(path, tokens, words):
    assert seen(path, file_of(tokens), Key(TOKENS)) == (
        Outcome.OTHER_PROMPT,
        f"the state file holds another prompt: {words}",
    )


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"key_type": F32}, "K rows of layer 0 are f32 of 8 bytes, not f16 of 8 bytes"),
        ({"n_stream": 4}, "streams 4, not 2"),
        ({"version": 3}, "state version 3, not 4"),
    ],
)
def test_a_file_of_another_cache_is_refused(path, changed, words):
    own = kind(path, file_of())
    found = seen(path, file_of(**changed), Key(TOKENS, own))
    assert found == (Outcome.OTHER_LAYOUT, f"the state file does not fit this decoder: {words}")


def test_a_checksum_is_compared(path):
    data = file_of()
    right = hashlib.sha256(data).hexdigest()
    assert seen(path, data, Key(TOKENS, sha256=right)) is None
    for wrong in ("0" * 64, right.upper(), 7, True, {}):
        outcome, words = seen(path, data, Key(TOKENS, sha256=wrong))
        assert outcome is Outcome.CORRUPT
        assert right[:16] in words
        assert len(words) < 120


def test_the_size_that_its_writer_told_is_compared(path):
    data = file_of()
    assert seen(path, data, Key(TOKENS, n_bytes=len(data))) is None
    assert seen(path, data[:-1], Key(TOKENS, n_bytes=len(data))) == (
        Outcome.CORRUPT,
        f"the state file is not as it was written: it has {len(data) - 1} bytes and not {len(data)}",
    )


@pytest.mark.parametrize("data", [b"", b"qsg", b"junk" * 9, file_of()[:20], b"ggsq" + file_of()[4:]])
def test_what_is_no_state_file_is_malformed(path, data):
    assert seen(path, data, Key(TOKENS))[0] is Outcome.MALFORMED


def test_a_file_that_is_gone_cannot_be_read(path):
    with pytest.raises(StepFailed, match="no such file") as caught:
        inspect(path, Key(TOKENS))
    assert caught.value.outcome is Outcome.FAILED


def newer(data):
    return data[:16] + (2).to_bytes(4, "little") + data[20:]


SILENT = encode_statefile(StateFile(TOKENS, TokenForm.COUNTED, b"\1\0\0\0" + b"\x02\0\0\0" * 40))
"""A recurrent state, as far as it is looked at."""


def test_a_newer_form_is_left_to_a_decoder_that_writes_it_itself(path):
    own = kind(path, newer(file_of()))
    assert seen(path, newer(file_of()), Key(TOKENS, own)) is None
    assert seen(path, file_of(), Key(TOKENS, own)) is None
    outcome, words = seen(path, newer(file_of(version=5)), Key(TOKENS, own))
    assert (outcome, words.rpartition(": ")[2]) == (Outcome.OTHER_LAYOUT, "state version 5, not 4")


@pytest.mark.parametrize(
    ("data", "own", "words"),
    [
        (SILENT, SILENT, None),
        (SILENT, file_of(), "no rows of attention"),
        (file_of(), SILENT, "rows of attention, and the decoder's own state has none"),
        (newer(file_of()), file_of(), "a token payload of a newer form"),
    ],
    ids=["both recurrent", "recurrent to attention", "attention to recurrent", "newer form"],
)
def test_memory_of_another_kind_is_told(path, data, own, words):
    found = seen(path, data, Key(TOKENS, kind(path, own)))
    assert (found and found[1].removeprefix("the state file does not fit this decoder: ")) == words
