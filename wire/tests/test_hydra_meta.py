"""The metas of Hydra answers: what is missing is an error and never a zero; identities compare as the gate does."""

import json

import pytest

from wire.errors import RemoteWireError
from wire.hydra_identity import Identity, compare, decode_identity, encode_identity, encode_match
from wire.hydra_meta import (
    DecodeAccepted,
    DecodeRefused,
    PrefillMeta,
    PutMeta,
    SlotMeta,
    decode_decode_meta,
    decode_info,
    decode_prefill_meta,
    decode_put_meta,
    decode_slot_meta,
)

TOY = Identity(tokenizer="toy-256", model_name="toy", model_quant="f32", capabilities=0b101, model_alias="t")


def test_an_identity_survives_its_meta_and_unknown_fields_stay_out_of_it():
    assert decode_identity(encode_identity(TOY)) == TOY
    assert encode_identity(Identity(model_hash="ab" * 32)) == {"model_hash": "ab" * 32}
    assert encode_identity(Identity()) == {}
    assert decode_identity({"tokenizer": 7, "model_name": None}) == Identity()
    assert not decode_identity({"model_name": "toy"}).known


def test_capabilities_that_are_no_number_are_an_error():
    with pytest.raises(RemoteWireError, match="model_capabilities"):
        decode_identity({"model_capabilities": "MTP"})


@pytest.mark.parametrize(
    ("target", "passes"),
    [
        (TOY, True),
        (Identity("toy-256", "toy", "q4_0", 0b101), True),
        (Identity("toy-256", "toy", "f32", 0b11101), True),
        (Identity("toy-256", "toy", "f32", 0b100), False),
        (Identity("toy-256", "toy", "f32", 0b111), False),
        (Identity("toy-257", "toy", "f32", 0b101), False),
        (Identity("toy-256", "Toy", "f32", 0b101), False),
    ],
)
def test_the_gate_bridges_quantisation_and_soft_capabilities_only(target, passes):
    assert compare(TOY, target).passes is passes


def test_a_match_names_the_bits_that_differ():
    match = encode_match(compare(TOY, Identity("toy-256", "toy", "f32", 0b10001)))
    assert match["capabilities_diff_bits"] == ["REASONING", "CODE"]
    assert match["capabilities_xor"] == 0b10100


def test_metas_are_read():
    slot = {"slot_id": 0, "n_past": 7, "state_size": 9, "is_processing": False, "is_transferring": True}
    assert decode_slot_meta(json.dumps(slot).encode()) == SlotMeta(7, False, True, Identity())
    prefill = {"n_past": 7, "state_size": 9, "logits_size": 4, "model_fallback": True} | encode_identity(TOY)
    assert decode_prefill_meta(json.dumps(prefill).encode()) == PrefillMeta(7, 9, 4, True, TOY)
    assert decode_put_meta(b"{}") == PutMeta(True, None, Identity())
    assert decode_put_meta(b'{"restored":true,"n_past":3}') == PutMeta(True, 3, Identity())
    assert decode_decode_meta(b'{"valid":true,"decode_request_id":5}') == DecodeAccepted(5)
    refused = b'{"valid":false,"decode_request_id":5,"reason":"slot is busy","error_code":"CAP_MISMATCH"}'
    assert decode_decode_meta(refused) == DecodeRefused("slot is busy", "CAP_MISMATCH")
    assert decode_info(b'{"capabilities":["prefill","merged_decode"]}').merged_decode
    assert not decode_info(b'{"capabilities":["decode"]}').merged_decode


@pytest.mark.parametrize(
    ("read", "meta"),
    [
        (decode_slot_meta, b"{}"),
        (decode_slot_meta, b'{"n_past":0,"is_processing":false}'),
        (decode_slot_meta, b'{"n_past":0,"is_processing":0,"is_transferring":false}'),
        (decode_slot_meta, b"fine"),
        (decode_prefill_meta, b"{}"),
        (decode_prefill_meta, b'{"n_past":-1,"state_size":0}'),
        (decode_prefill_meta, b'{"n_past":3.0,"state_size":0}'),
        (decode_prefill_meta, b""),
        (decode_put_meta, b'{"n_past":"3"}'),
        (decode_decode_meta, b'{"valid":true}'),
        (decode_info, b'{"capabilities":"decode"}'),
        (decode_info, b"[]"),
    ],
)
def test_a_meta_without_what_is_acted_on_is_the_peers_error(read, meta):
    with pytest.raises(RemoteWireError):
        read(meta)
