"""State into a slot of the toy engine: KV stream, checkpoints and their bytes, memory that cannot step back."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakes.engine.intake import STREAMED_FROM_BYTES, Carrier, Intake, KvRefused
from fakes.engine.kv_stream import KvReader, KvShape, kv_stream, kv_stream_bytes
from fakes.engine.logits import encode_logits, greedy_of
from fakes.engine.memory import Memory
from fakes.engine.snapshot_data import SnapshotRefused, check_snapshot, load_snapshot, take_snapshot
from fakes.model import ToyModel
from fakes.spec import Kind, ModelSpec
from wire.blob import BlobV1, Checkpoint, CheckpointHead, StateBlob, encode_blob, encode_blob_head, encode_v1
from wire.blob_reader import BlobLimits, BlobRefused

DENSE = ToyModel(ModelSpec(row_bytes=16))
HYBRID = ToyModel(ModelSpec(row_bytes=16, kind=Kind.HYBRID))
TOKENS = (300, 301, 302, 303, 304)
LIMITS = BlobLimits(n_ctx=64, n_vocab=DENSE.spec.vocab)


def filled(model, tokens=TOKENS):
    memory = Memory(model)
    memory.evaluate(tokens)
    return memory


def shape(memory):
    return KvShape(DENSE.cell_bytes, 64, memory.recurrent_bytes)


def stream(memory, padding=0):
    return b"".join(kv_stream(memory.cells, memory.recurrent, padding))


def reply(memory, n=4):
    found = []
    for _ in range(n):
        found.append(memory.next_token())
        memory.evaluate([found[-1]])
    return found


def delivered(data, carrier, memory, *, chunk=None, total=None):
    intake = Intake(total or len(data), carrier, LIMITS, shape(memory))
    for at in range(0, len(data), chunk or max(1, len(data))):
        intake.receive(data[at : at + (chunk or len(data))])
    return intake.finish()


@pytest.mark.parametrize("model", [DENSE, HYBRID])
def test_memory_that_travelled_answers_as_the_one_it_came_from(model):
    source, target = filled(model), Memory(model)
    blob = encode_blob(StateBlob(3, 5, TOKENS, stream(source)))
    taken = delivered(blob, Carrier.PUT, source, chunk=7)
    target.load(taken.cells, taken.recurrent, len(taken.cells))
    assert (taken.form, taken.tokens, taken.logits) == ("v3", TOKENS, None)
    assert reply(target) == reply(source)


@given(st.integers(0, 300), st.integers(1, 400), st.binary(max_size=9))
@settings(deadline=None, max_examples=40)
def test_the_kv_reader_consumes_exactly_the_stream_in_any_chunking(padding, size, behind):
    source = filled(HYBRID)
    data = stream(source, padding)
    assert len(data) == kv_stream_bytes(source.cells, source.recurrent, padding)
    reader = KvReader(shape(source), max_remainder=4)
    for at in range(0, len(data + behind), size):
        reader.receive((data + behind)[at : at + size])
    assert (reader.accepted_bytes, reader.cells) == (len(data), source.cells)
    assert (reader.remainder, reader.remainder_bytes) == (behind[:4], len(behind))


def test_a_kv_stream_cut_at_any_byte_or_of_another_shape_is_taken_for_nothing():
    data = stream(filled(HYBRID))
    for end in range(len(data)):
        reader = KvReader(shape(filled(HYBRID)), 0)
        reader.receive(data[:end])
        assert reader.accepted_bytes == 0
    for wrong in (KvShape(DENSE.cell_bytes + 1, 64, 32), KvShape(DENSE.cell_bytes, 4, 32), KvShape(64, 64, 0)):
        reader = KvReader(wrong, 0)
        reader.receive(data)
        assert reader.accepted_bytes == 0


def test_logits_are_taken_only_where_exactly_a_vocabulary_of_them_is_left():
    source = filled(DENSE)
    head = encode_blob_head(3, 5, TOKENS, None)
    tail = encode_logits(source.next_token(), DENSE.spec.vocab)
    assert greedy_of(delivered(head + stream(source) + tail, Carrier.DECODE, source).logits) == source.next_token()
    for wrong in (tail[:-1], tail + b"\0", b"\0"):
        with pytest.raises(KvRefused, match="no logits"):
            delivered(head + stream(source) + wrong, Carrier.DECODE, source)


def test_raw_comes_by_decode_and_v1_by_put_only():
    source = filled(DENSE)
    raw = delivered(stream(source), Carrier.DECODE, source)
    assert (raw.form, raw.tokens, len(raw.cells)) == ("raw", (), 5)
    with pytest.raises(BlobRefused):
        delivered(stream(source), Carrier.PUT, source)
    old = encode_v1(BlobV1(5, TOKENS, stream(source)))
    assert delivered(old, Carrier.PUT, source).tokens == TOKENS
    with pytest.raises(KvRefused):
        delivered(old, Carrier.DECODE, source)


def test_large_state_is_read_as_it_comes_and_gives_the_same():
    source = filled(DENSE)
    data = encode_blob(StateBlob(2, 5, TOKENS, stream(source, padding=STREAMED_FROM_BYTES)))
    taken = delivered(data, Carrier.PUT, source, chunk=1 << 20)
    assert (taken.form, taken.tokens, list(taken.cells)) == ("v2", TOKENS, source.cells)
    with pytest.raises(BlobRefused, match="B3"):
        delivered(b"\x02" + b"\xff" * 20, Carrier.PUT, source, total=STREAMED_FROM_BYTES + 1)


def test_recurrent_memory_cannot_step_back_without_a_checkpoint():
    right = reply(filled(HYBRID))
    stepped = filled(HYBRID)
    stepped.cut(4)
    stepped.evaluate(TOKENS[4:])
    assert reply(stepped) != right, "the recurrent state absorbed the last token twice"
    dense = filled(DENSE)
    dense.cut(4)
    dense.evaluate(TOKENS[4:])
    assert reply(dense) == reply(filled(DENSE))


@pytest.mark.parametrize("recurrent_only", [True, False])
def test_a_checkpoint_brings_the_earlier_state_back(recurrent_only):
    before = filled(HYBRID, TOKENS[:4])
    snapshot = take_snapshot(before, recurrent_only=recurrent_only)
    assert (snapshot.pos_min, snapshot.pos_max, snapshot.n_tokens) == (3, 3, 4)
    later = filled(HYBRID)
    later.cut(4)
    load_snapshot(later, snapshot, shape(later))
    later.evaluate(TOKENS[4:])
    assert reply(later) == reply(filled(HYBRID))


@pytest.mark.parametrize("recurrent_only", [True, False])
def test_a_checkpoint_read_as_the_other_kind_is_refused(recurrent_only):
    memory = filled(HYBRID)
    snapshot = take_snapshot(memory, recurrent_only=recurrent_only)
    head = CheckpointHead(snapshot.pos_min, snapshot.pos_max, snapshot.n_tokens, recurrent_only=not recurrent_only)
    blob = StateBlob(3, 5, TOKENS, stream(memory), Checkpoint(head, snapshot.data))
    with pytest.raises(KvRefused, match="checkpoint of"):
        delivered(encode_blob(blob), Carrier.PUT, memory)
    check_snapshot(snapshot, shape(memory))
    with pytest.raises(SnapshotRefused):
        check_snapshot(take_snapshot(filled(DENSE), recurrent_only=True), shape(memory))


def test_a_v1_blob_of_a_hybrid_model_gets_a_made_up_checkpoint_that_is_a_token_ahead():
    source = filled(HYBRID)
    taken = delivered(encode_v1(BlobV1(5, TOKENS, stream(source))), Carrier.PUT, source)
    assert (taken.snapshot.pos_max, taken.snapshot.n_tokens) == (4, 5)
    assert delivered(encode_v1(BlobV1(5, TOKENS, stream(filled(DENSE)))), Carrier.PUT, filled(DENSE)).snapshot is None
