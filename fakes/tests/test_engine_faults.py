"""Each fault of the engine: it fires on the step it is about, and leaves other steps, operations and points alone."""

import re
from dataclasses import replace

import pytest

from fakes.catalogue import faults_of
from fakes.engine.checkpoints import Snapshot
from fakes.engine.steps import (
    Accept,
    Admission,
    Arrival,
    BlobDraft,
    Cancel,
    Death,
    EntryReply,
    LegacyReply,
    Restore,
    RpcAnswer,
    SlotsReply,
    StreamPlan,
    Then,
    TokenStep,
)
from fakes.fault import Player
from fakes.fault_setting import parse_setting
from fakes.point import Point
from wire.decode_legacy import TokenFrame, encode_piece, encode_token_frame

FAULTS = faults_of("engine")


class Kept:
    def __init__(self):
        self.entries = []

    def write(self, event, **fields):
        self.entries.append((event, fields))


IDENTITY = {"tokenizer": "t", "model_name": "m", "model_quant": "q", "model_capabilities": 0, "model_alias": "a"}


def answer(op, **changes):
    return RpcAnswer(op, 0, 0, {"n_past": 9} | IDENTITY, payload_bytes=500, **changes)


SNAPSHOT = Snapshot(3, 3, 4, True, b"data")
DRAFT = BlobDraft("PREFILL", 0, 3, 5, (1, 2, 3, 4, 5), SNAPSHOT, b"logits!!")
FRAMES = b"".join(encode_token_frame(TokenFrame(at, 0.0, at == 2)) for at in range(3))
PIECES = encode_piece(b"a") + encode_piece(b"b") + encode_piece(b"c")
RESTORE = Restore("DECODE", 0, "v3", (1, 2, 3))
SLOT = {"id": 0, "is_processing": False, "n_past": 3, "n_remain": 5}

CASES = [
    ("engine-refuse-connect", Accept(1), {"arrival": Arrival.RESET}),
    ("engine-accept-silence", Accept(1), {"arrival": Arrival.IGNORE}),
    ("engine-pool-exhausted", Accept(1), {"arrival": Arrival.WAIT}),
    ("engine-pool-exhausted=close", Accept(1), {"arrival": Arrival.CLOSE}),
    ("engine-idle-close=250", Accept(1), {"idle_s": 0.25}),
    ("engine-wrong-magic-close", Admission("INFO", None), {"answered": False}),
    ("engine-close-before-answer", answer("INFO"), {"stops_after": 0, "then": Then.CLOSE}),
    ("engine-close-after-execution", answer("DECODE"), {"stops_after": 0, "then": Then.CLOSE}),
    ("engine-close-in-header", answer("INFO"), {"stops_after": 5, "then": Then.CLOSE}),
    ("engine-truncated-meta=4", answer("INFO"), {"stops_after": 16, "then": Then.CLOSE}),
    ("engine-truncated-payload=100", answer("PREFILL"), {"payload_stops_after": 100, "then": Then.CLOSE}),
    ("engine-truncated-payload=9999", answer("STATE_GET"), {"payload_stops_after": 499, "then": Then.CLOSE}),
    ("engine-stall-payload=100", answer("STATE_GET"), {"payload_stops_after": 100, "then": Then.STALL}),
    ("engine-drip", answer("INFO"), {"piece_bytes": 1}),
    ("engine-overlong-answer=2", answer("INFO"), {"behind": b"\0\0"}),
    (
        "engine-unframed-error-text",
        answer("STATE_GET"),
        {"status": 1, "meta": {}, "payload_bytes": 0, "behind": b"invalid slot ID"},
    ),
    ("engine-meta-not-json", answer("INFO"), {"meta": b"all is well"}),
    ("engine-meta-missing-fields", answer("STATE_PUT"), {"meta": b"{}"}),
    ("engine-meta-huge", answer("INFO"), {"meta_announced": 2**24 - 1}),
    ("engine-payload-len-huge", answer("PREFILL"), {"payload_announced": 5 * 2**30}),
    ("engine-payload-len-huge=8EiB", answer("PREFILL"), {"payload_announced": 2**63}),
    ("engine-unknown-status", answer("INFO"), {"status": 0x7F}),
    ("engine-busy", Admission("STATE_PUT", 0), {"occupied": True}),
    ("engine-busy-as-error", Admission("PREFILL", 0), {"occupied": True}),
    ("engine-busy-as-cap-mismatch", Admission("DECODE", 0), {"occupied": True}),
    ("engine-info-lies", Admission("DECODE", 0), {"legacy": True}),
    ("engine-kv-left-on-wire", Admission("DECODE", 0), {"kv_unread": True}),
    ("engine-over-reserved", Admission("PREFILL", 0), {"heeds_reservation": False}),
    ("engine-transferring-forever", Admission("STATE_GET", 0), {"transferring": True}),
    ("engine-die-in-prefill", Admission("PREFILL", 0), {"death": Death.EXIT}),
    ("engine-die-in-get", Admission("STATE_GET", 0), {"death": Death.EXIT}),
    ("engine-die-and-return-empty", Admission("DECODE", 0), {"death": Death.RETURN}),
    ("engine-slow-prefill=1500", Admission("PREFILL", 0), {"delay_s": 1.5}),
    ("engine-die-in-decode", TokenStep("DECODE", 0, 1), {"death": Death.EXIT}),
    ("engine-tokens-not-restored", RESTORE, {"tokens": ()}),
    ("engine-frozen-slot=500", RESTORE, {"tokens": (), "frozen_s": 0.5}),
    ("engine-raw-kv-accepted", RESTORE, {"tokens": (), "form": "raw"}),
    (
        "engine-restore-error-late",
        RESTORE,
        {"failure": "KV restore failed (llama_state_seq_set_data returned 0)"},
    ),
    ("engine-hash-mismatch", RESTORE, {"failure": "KV segment hash mismatch (corrupt stream)"}),
    ("engine-gate-b-reject", RESTORE, {"failure": "Gate B identity mismatch after model load"}),
    (
        "engine-poison-then-crash",
        RESTORE,
        {"failure": "KV restore failed (llama_state_seq_set_data returned 0)", "poisoned": True},
    ),
    ("engine-stream-cut=3", StreamPlan("DECODE", 0), {"n_chunks": 3, "then": Then.CLOSE}),
    ("engine-stream-stall=3", StreamPlan("DECODE", 0), {"n_chunks": 3, "then": Then.STALL}),
    ("engine-empty-done-stream", StreamPlan("DECODE", 0), {"n_chunks": 0, "done": True, "then": Then.NEXT}),
    ("engine-single-delta-no-done", StreamPlan("DECODE", 0), {"at_once": True, "done": False}),
    ("engine-cancel-ignored=4", Cancel("DECODE", 0), {"heeded": False, "looks": 4}),
    ("engine-stream-no-end", LegacyReply("DECODE", 0, PIECES), {"data": encode_piece(b"a")}),
    ("engine-frame-split", answer("DECODE"), {"piece_bytes": 3}),
    ("engine-frame-bad", LegacyReply("DECODE", 0, FRAMES), {"data": FRAMES + b"\0"}),
    ("engine-frame-bad=no-final", LegacyReply("DECODE", 0, FRAMES), {"data": FRAMES[:-1] + b"\0"}),
    ("engine-frame-bad=two-final", LegacyReply("DECODE", 0, FRAMES), {"data": FRAMES[:8] + b"\1" + FRAMES[9:]}),
    ("engine-blob-bad", DRAFT, {"drop_tail": 10**9, "logits": b""}),
    ("engine-blob-bad=ntok-lie", DRAFT, {"n_tok_announced": 0xFFFFFFFF}),
    ("engine-blob-bad=tgt-overflow", DRAFT, {"target_announced": 2**64 - 8}),
    ("engine-blob-bad=bad-flags", DRAFT, {"flags_announced": 0x80}),
    ("engine-blob-bad=lone-flag", DRAFT, {"flags_announced": 0x02}),
    ("engine-blob-bad=v1-as-v2", DRAFT, {"as_v1": True, "n_past": 258}),
    ("engine-blob-zero", DRAFT, {"absent": True}),
    ("engine-npast-ntok-differ=-2", DRAFT, {"n_past": 3}),
    ("engine-logits-wrong", DRAFT, {"logits": b""}),
    ("engine-logits-wrong=wrong-size", DRAFT, {"logits": b"logi"}),
    ("engine-checkpoint-missing", DRAFT, {"snapshot": None}),
    ("engine-checkpoint-mislabelled", DRAFT, {"snapshot": replace(SNAPSHOT, recurrent_only=False)}),
    ("engine-wrong-prefix", DRAFT, {"tokens": (5, 4, 3, 2, 1)}),
    ("engine-slots-empty-list", SlotsReply("slots", None, (SLOT,)), {"slots": ()}),
    (
        "engine-slot-stuck",
        SlotsReply("slots", None, (SLOT,)),
        {"slots": ({**SLOT, "is_processing": True, "n_remain": 0},)},
    ),
    ("engine-slow-health=40", SlotsReply("slots", None, (SLOT,)), {"delay_s": 0.04}),
]
IN_THE_META = [
    ("engine-model-fallback", "PREFILL", {"model_fallback": True, "model_name": "another-model"}),
    ("engine-identity-flips", "STATE_META", {"model_name": "another-model"}),
    ("engine-meta-after-put-zero", "STATE_META", {"n_past": 0}),
    ("engine-n-past-after-restore=3", "DECODE", {"n_past_after_restore": 3}),
]
REFUSALS = [
    ("engine-not-found-slot", "STATE_GET", 1, True),
    ("engine-op-unknown", "PREFILL", 2, True),
    ("engine-not-implemented", "PREFILL", 6, True),
    ("engine-undrained-payload", "STATE_PUT", 5, False),
    ("engine-hash-mismatch-early", "DECODE", 5, True),
    ("engine-gate-a-reject", "DECODE", 2, True),
]
ENTRY = EntryReply("GET", 0, "done", 200, {"id": "x"})
NAMES = {name.partition("=")[0] for name, *_ in (*CASES, *IN_THE_META, *REFUSALS)}


def played(setting, point, step):
    journal = Kept()
    player = Player(journal, [parse_setting(setting, FAULTS)])
    return player.at(point, step), journal.entries, player.counts()


def point_of(setting):
    return FAULTS[setting.partition("=")[0].partition(",")[0]].point


@pytest.mark.parametrize(("setting", "step", "changes"), CASES, ids=[case[0] for case in CASES])
def test_it_fires(setting, step, changes):
    after, entries, counts = played(setting, point_of(setting), step)
    assert after == replace(step, **changes)
    assert [event for event, _ in entries] == ["fault"]
    assert list(counts.values()) == [{"reached": 1, "fired": 1}]


@pytest.mark.parametrize(("setting", "op", "said"), IN_THE_META)
def test_it_changes_what_the_meta_says(setting, op, said):
    after, _, _ = played(setting, Point.ENGINE_ANSWER, answer(op))
    assert said.items() <= dict(after.meta).items()
    assert replace(after, meta={}) == replace(answer(op), meta={})


@pytest.mark.parametrize(("setting", "op", "status", "drained"), REFUSALS)
def test_it_refuses(setting, op, status, drained):
    after, _, _ = played(setting, Point.ENGINE_ADMIT, Admission(op, 0))
    assert (after.refusal.status, after.drained) == (status, drained)


def test_an_identity_that_is_absent_leaves_the_rest_of_the_meta():
    after, _, _ = played("engine-identity-absent", Point.ENGINE_ANSWER, answer("PREFILL"))
    assert after.meta == {"n_past": 9}


@pytest.mark.parametrize(
    ("setting", "status", "shown"), [("engine-not-ready-404", 404, "not ready"), ("engine-stuck-loading", 202, "load")]
)
def test_a_stored_result_is_hidden(setting, status, shown):
    after, _, _ = played(setting, Point.ENGINE_ENTRY, ENTRY)
    assert after.status == status
    assert shown in str(after.body)


@pytest.mark.parametrize("name", FAULTS)
def test_it_leaves_the_rest_alone(name):
    """Another point, and where it is about some operations only, another operation."""
    fault = FAULTS[name]
    for point in Point:
        step = Admission("OTHER", 0)
        if point is not fault.point or fault.ops:
            assert played(name, point, step) == (step, [], {name: {"reached": 0, "fired": 0}})


def test_every_fault_is_tried_here():
    assert set(FAULTS) == NAMES | {"engine-identity-absent", "engine-not-ready-404", "engine-stuck-loading"}


def test_every_number_of_the_fault_list_is_a_fault():
    said = {number for fault in FAULTS.values() for number in re.findall(r"\bF\d\d\b", fault.play.__doc__)}
    assert said == {f"F{number:02}" for number in range(1, 66)}


def test_a_limit_by_operation_slot_and_number():
    journal = Kept()
    player = Player(journal, [parse_setting("engine-busy,op=STATE_PUT,slot=1,first=2", FAULTS)])
    steps = [Admission("STATE_GET", 1), Admission("STATE_PUT", 0), *[Admission("STATE_PUT", 1)] * 3]
    fired = [player.at(Point.ENGINE_ADMIT, step) != step for step in steps]
    assert fired == [False, False, True, True, False]
    assert player.counts() == {"engine-busy": {"reached": 3, "fired": 2}}
