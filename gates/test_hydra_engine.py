"""The fake engine on its own wire: operations, forms of state, generations of DECODE, faults as a client sees them."""

import contextlib
import json
import re
import socket
import time

import pytest

from gates.engines import Client, EngineProcess, decode_payload, prompt
from wire.blob import StateBlob, encode_blob
from wire.blob_reader import BlobLimits, BlobRefused, read_blob
from wire.decode_legacy import PieceDecoder, TokenFrameDecoder
from wire.errors import RemoteWireError
from wire.hydra import Op, Status, encode_request, encode_response

LIMITS = BlobLimits(4096, 2048)
FORMS = ["v2", "v2-checkpoint", "v3", "v3-full", "v3-recurrent", "auto"]


@pytest.fixture(scope="module")
def engines(tmp_path_factory):
    """Two engines of the same model, with two slots each."""
    with contextlib.ExitStack() as stack:
        flags = ("--parallel", "2", "--ctx-size", "8192", "--metrics")
        yield [stack.enter_context(EngineProcess(tmp_path_factory.mktemp("engine"), flags)) for _ in range(2)]


@pytest.fixture
def pair(engines):
    """The two engines with empty slots and no faults."""
    for engine in engines:
        engine.control("POST", "/reset")
    yield engines
    for engine in engines:
        engine.control("POST", "/reset")
        state = engine.control("GET", "/state")
        assert [slot["reserved_by"] for slot in state["slots"]] == [None, None]


def reply(engine, tokens, n=8, slot=0, **body):
    status, answer = engine.http("POST", "/completion", {"prompt": tokens, "n_predict": n, "id_slot": slot} | body)
    assert status == 200, answer
    return answer["tokens"], answer["timings"]["cache_n"], answer["timings"]["prompt_n"]


def plain(engine, tokens, n=8):
    return reply(engine, tokens, n, cache_prompt=False)[0]


def result(engine, request_id):
    """The stored result, once it is more than "not ready"."""
    deadline = time.monotonic() + 20
    while True:
        status, body = engine.http("GET", f"/v1/decode/{request_id}")
        if status != 202 and not (status == 404 and "not ready" in json.dumps(body)):
            return status, body
        assert time.monotonic() < deadline, body


def decoded(engine, answer):
    status, body = result(engine, answer.meta["decode_request_id"])
    return status, body["usage"]["prompt_tokens_details"]["cached_tokens"] if status == 200 else body["error"][
        "message"
    ]


def test_operations_in_a_row_on_one_connection_and_again_byte_by_byte(pair):
    engine = pair[0]
    for fault in ([], ["engine-drip"]):
        engine.control("POST", "/faults", {"set": fault})
        with engine.rpc() as rpc:
            assert "merged_decode" in rpc.call(Op.INFO).meta["capabilities"]
            assert rpc.call(Op.CONFIGURE, payload={"state_chunk_size": 1}).meta["state_chunk_size_applied"] == 65_536
            assert rpc.call(Op.STATE_META).meta["is_processing"] is False
            prefill = rpc.call(Op.PREFILL, payload={"prompt": prompt(12)})
            assert prefill.meta["n_past"] == 12
            assert len(prefill.payload) == 10 + 4 * 12 + prefill.meta["state_size"] + prefill.meta["logits_size"]
            blob = rpc.call(Op.STATE_GET)
            assert read_blob(blob.payload, LIMITS).tokens == tuple(prompt(12))
            assert rpc.call(Op.STATE_PUT, slot=1, payload=blob.payload).meta["restored"] is True
            assert rpc.call(Op.STATE_META, slot=1).meta["n_past"] == 12
            assert rpc.call(Op.SET_EXPERT_MODE, payload=b"combined").meta["mode"] == "solo"
            assert rpc.call(Op.PIPELINE_ATTACH).status == Status.NOT_IMPLEMENTED


def counted(engine):
    status, page = engine.http("GET", "/metrics", raw=True)
    assert status == 200
    return {name: float(value) for name, value in re.findall(r"^llamacpp:(\w+) (\S+)$", page.decode(), re.M)}


def test_the_counters_grow_by_what_was_evaluated_whoever_asked(pair):
    """PREFILL, an HTTP completion that keeps all but one token, and a DECODE with the state."""
    source, target = pair
    before, target_before = counted(source), counted(target)
    with source.rpc() as rpc, target.rpc() as other:
        prefilled = rpc.call(Op.PREFILL, payload={"prompt": prompt(30)})
        after = counted(source)
        assert after["prompt_tokens_total"] - before["prompt_tokens_total"] == 30
        assert after["tokens_predicted_total"] == before["tokens_predicted_total"]
        reply(source, prompt(30), n=3)
        last = counted(source)
        assert last["prompt_tokens_total"] - after["prompt_tokens_total"] == 1
        assert last["prompt_tokens_cached_total"] - after["prompt_tokens_cached_total"] == 29
        assert last["tokens_predicted_total"] - after["tokens_predicted_total"] == 3
        decoding = other.call(Op.DECODE, payload=decode_payload(prefilled.meta, prompt(30), prefilled.payload))
        assert decoded(target, decoding) == (200, 29)
    assert counted(target)["prompt_tokens_total"] - target_before["prompt_tokens_total"] == 1


def test_an_engine_without_the_flag_has_no_counters(tmp_path):
    with EngineProcess(tmp_path) as engine:
        status, answer = engine.http("GET", "/metrics")
    assert status == 501
    assert "--metrics" in answer["error"]["message"]


@pytest.mark.parametrize(
    ("n_new", "row", "cached", "evaluated"),
    [(30, 1, 29, 1), (29, 2, 28, 1), (31, 4, 30, 1), ("diverging", 3, 20, 10), ("uncached", 5, 0, 30)],
)
@pytest.mark.parametrize("carrier", ["put", "decode"])
def test_the_five_rows_of_the_prompt_match_after_a_handoff(pair, carrier, n_new, row, cached, evaluated):
    source, target = pair
    tokens = prompt(30)
    wanted = tokens[:20] + prompt(10, 900) if n_new == "diverging" else prompt(30 if n_new == "uncached" else n_new)
    keep = n_new != "uncached"
    expected = plain(source, wanted)
    with source.rpc() as rpc, target.rpc() as to:
        prefill = rpc.call(Op.PREFILL, payload={"prompt": tokens})
        if carrier == "put":
            assert to.call(Op.STATE_PUT, payload=prefill.payload).status == Status.OK
            assert reply(target, wanted, cache_prompt=keep) == (expected, cached, evaluated)
        else:
            payload = decode_payload(prefill.meta, wanted, prefill.payload, cache_prompt=keep)
            assert decoded(target, to.call(Op.DECODE, payload=payload)) == (200, cached)
            assert target.journal("completion")[-1]["predicted"] == expected
    assert target.journal("prompt_match")[-1]["row"] == row


@pytest.mark.parametrize("kind", ["dense", "hybrid"])
@pytest.mark.parametrize("form", [*FORMS, "v1"])
def test_each_form_of_state_is_used_or_its_damage_is_seen(tmp_path, form, kind):
    """v1 and forms without a checkpoint are wrong for recurrent memory: the text differs, though nothing failed."""
    damaged = kind == "hybrid" and form in ("v1", "v2", "v3")
    model = ("-m", f"toy:kind={kind}")
    with EngineProcess(tmp_path, (*model, "--state-form", form, "--parallel", "2")) as engine, engine.rpc() as rpc:
        tokens = prompt(30)
        expected = plain(engine, tokens)
        prefill = rpc.call(Op.PREFILL, payload={"prompt": tokens})
        blob = rpc.call(Op.STATE_GET)
        assert rpc.call(Op.STATE_PUT, slot=1, payload=blob.payload).status == Status.OK
        found, cached, evaluated = reply(engine, tokens, slot=1)
        assert (cached, evaluated) == (29, 1)
        assert (found != expected) is damaged
        payload = decode_payload(prefill.meta, tokens, prefill.payload)
        answer = rpc.call(Op.DECODE, slot=1, payload=payload)
        if form == "v1":
            assert answer.status == Status.OK
            assert decoded(engine, answer)[0] == 400, "DECODE takes what is neither v2 nor v3 for raw KV"
        else:
            assert decoded(engine, answer) == (200, 29)


def test_raw_kv_by_decode_is_taken_evaluated_in_full_and_named(pair):
    source, target = pair
    tokens = prompt(30)
    with source.rpc() as rpc, target.rpc() as to:
        prefill = rpc.call(Op.PREFILL, payload={"prompt": tokens})
        raw = read_blob(prefill.payload, LIMITS).rest[:-8192]
        answer = to.call(Op.DECODE, payload=decode_payload(prefill.meta, tokens, raw))
        assert decoded(target, answer) == (200, 0)
        assert to.call(Op.STATE_PUT, payload=raw).status == Status.BAD_REQUEST
    restore = target.journal("restore")[-2]
    assert (restore["form"], restore["n_tokens_restored"]) == ("raw", 0)
    assert target.journal("completion")[-1]["prompt_n"] == 30


def test_a_restored_slot_is_believed_once_and_a_diverging_turn_is_not(tmp_path):
    """`just_restored` must not leak into a later turn: there a recurrent slot needs a checkpoint, or starts again."""
    with EngineProcess(tmp_path, ("-m", "toy:kind=hybrid", "--state-form", "v3")) as engine, engine.rpc() as rpc:
        tokens = prompt(30)
        other = tokens[:10] + prompt(20, 900)
        expected = plain(engine, other)
        rpc.call(Op.PREFILL, payload={"prompt": tokens})
        rpc.call(Op.STATE_PUT, payload=rpc.call(Op.STATE_GET).payload)
        assert reply(engine, tokens)[1:] == (29, 1)
        assert reply(engine, other) == (expected, 0, 30)
        whys = [entry["why"] for entry in engine.journal("prompt_match")]
        assert whys[-2:] == [
            "just restored, the search was skipped",
            "no checkpoint, forcing full prompt re-processing",
        ]


def test_every_failed_restore_leaves_an_empty_slot(pair):
    source, target = pair
    with source.rpc() as rpc, target.rpc() as to:
        good = rpc.call(Op.PREFILL, payload={"prompt": prompt(12)}).payload
        lying = bytearray(good)
        lying[5:9] = b"\xff\xff\xff\xff"
        no_kv = encode_blob(StateBlob(3, 2, (300, 301), b"\0" * 64))
        bad = [b"", bytes(lying), good[:-1], no_kv, b"\x04" + good[1:]]
        for blob in bad:
            assert to.call(Op.STATE_PUT, payload=good).status == Status.OK
            answer = to.call(Op.STATE_PUT, payload=blob)
            assert answer.status in (Status.BAD_REQUEST, Status.ERROR), answer
            assert to.call(Op.STATE_META).meta["n_past"] == 0
        assert to.call(Op.STATE_PUT, payload=good).status == Status.OK, "the connection is still in step"


@pytest.mark.parametrize(
    ("op", "slot", "payload", "status"),
    [
        (Op.STATE_GET, 9, b"", Status.NOT_FOUND),
        (Op.STATE_PUT, 9, b"x", Status.NOT_FOUND),
        (Op.STATE_META, 9, b"", Status.NOT_FOUND),
        (Op.PREFILL, 9, b"{}", Status.ERROR),
        (Op.PREFILL, 0, b"not json", Status.ERROR),
        (Op.PREFILL, 0, b"", Status.ERROR),
        (Op.DECODE, 0, b"short", Status.BAD_REQUEST),
        (Op.CONFIGURE, 0, b"[", Status.ERROR),
        (Op.SET_EXPERT_MODE, 0, b"other", Status.ERROR),
        (Op.SWAP_QUANT, 0, b"\xff\xffq", Status.BAD_REQUEST),
        (0x77, 0, b"whatever", Status.ERROR),
    ],
)
def test_a_refusal_is_framed_and_the_connection_stays_in_step(pair, op, slot, payload, status):
    with pair[0].rpc() as rpc:
        assert rpc.call(op, slot=slot, payload=payload).status == status
        assert rpc.call(Op.STATE_META).status == Status.OK


def test_a_key_that_is_no_slot_is_an_error_and_an_empty_one_is_enough_for_info(pair):
    with pair[0].rpc() as rpc:
        for op, key, status in ((Op.STATE_META, b"zero", Status.ERROR), (Op.INFO, b"", Status.OK)):
            rpc.socket.sendall(encode_request(op, key=key))
            assert rpc.answer().status == status


def test_a_state_put_of_5_gib_is_refused_without_being_taken(pair):
    """Drained, as it is announced: the refusal comes when the peer has given up sending."""
    with pair[0].rpc() as rpc:
        rpc.put_head(5 * 1024**3)
        rpc.socket.sendall(bytes(1 << 20))
        rpc.socket.shutdown(socket.SHUT_WR)
        assert rpc.answer().whole is False
    with pair[0].rpc() as rpc:
        assert rpc.call(Op.STATE_META).meta["is_transferring"] is False


@pytest.mark.parametrize("bytes_sent", [b"GET / HTTP/1.1\r\n\r\n", b"\x48\x59" + bytes(14), b"\x0e" * 20])
def test_a_wrong_magic_closes_without_an_answer(pair, bytes_sent):
    with pair[0].rpc() as rpc:
        rpc.socket.sendall(bytes_sent)
        assert rpc.socket.recv(100) == b""


def test_generations_without_a_frame(tmp_path):
    request = {"prompt": prompt(12), "n_predict": 4}
    with EngineProcess(tmp_path, ("--decode-generation", "frames")) as engine, engine.rpc() as rpc:
        assert "merged_decode" not in rpc.call(Op.INFO).meta["capabilities"]
        answer = rpc.call(Op.DECODE, payload=request)
        decoder = TokenFrameDecoder(len(answer.payload))
        frames = decoder.receive(answer.payload)
        decoder.close()
        assert [frame.token for frame in frames] == engine.journal("completion")[-1]["predicted"]
        assert (answer.meta["tokens_generated"], answer.meta["stop_reason"]) == (4, "length")
    with EngineProcess(tmp_path, ("--decode-generation", "text")) as engine, engine.rpc() as rpc:
        rpc.send(Op.DECODE, payload=json.dumps(request).encode())
        head, pieces, decoder = rpc.socket.recv(12), [], PieceDecoder()
        while len(pieces) < 4:
            pieces += decoder.receive(rpc.socket.recv(100))
        assert head == encode_response(Status.OK)
        assert rpc.call(Op.INFO).status == Status.OK, "the engine goes back to waiting for a request"


def test_workers_are_held_by_connections_and_a_ninth_hears_nothing(tmp_path):
    flags = ("--workers", "2", "--waiting", "1")
    with EngineProcess(tmp_path, flags) as engine, contextlib.ExitStack() as stack:
        first, second, third, fourth = (stack.enter_context(engine.rpc()) for _ in range(4))
        assert first.call(Op.INFO).status == Status.OK
        assert second.call(Op.INFO).status == Status.OK
        assert fourth.socket.recv(1) == b"", "the queue is full"
        third.send(Op.INFO)
        third.socket.settimeout(0.3)
        with pytest.raises(TimeoutError):
            third.socket.recv(1)
        third.socket.settimeout(20)
        first.socket.close()
        assert third.answer().status == Status.OK


def test_a_reserved_slot_refuses_another_decode_and_state(pair):
    """The good way only reserves for a moment; held, it shows."""
    source, target = pair
    with source.rpc() as rpc, target.rpc() as to:
        prefill = rpc.call(Op.PREFILL, payload={"prompt": prompt(12)})
        payload = decode_payload(prefill.meta, prompt(12), prefill.payload)
        target.control("POST", "/hold", {"point": "engine.restore"})
        first = to.call(Op.DECODE, payload=payload)
        second = to.call(Op.DECODE, payload=payload)
        assert second.meta["reason"] == "slot reserved for another decode"
        assert to.call(Op.STATE_PUT, payload=prefill.payload).status == Status.BUSY
        assert to.call(Op.PREFILL, payload={"prompt": prompt(3)}).status == Status.ERROR
        assert target.http("GET", f"/v1/decode/{first.meta['decode_request_id']}")[0] == 202
        target.control("POST", "/release", {"point": "engine.restore"})
        assert decoded(target, first) == (200, 11)
        assert to.call(Op.STATE_PUT, payload=prefill.payload).status == Status.OK


def test_a_cancelled_decode_frees_its_slot_and_is_forgotten(pair):
    source, target = pair
    with source.rpc() as rpc, target.rpc() as to:
        prefill = rpc.call(Op.PREFILL, payload={"prompt": prompt(12)})
        target.control("POST", "/hold", {"point": "engine.token", "at": 3})
        answer = to.call(Op.DECODE, payload=decode_payload(prefill.meta, prompt(12), prefill.payload))
        request_id = answer.meta["decode_request_id"]
        assert target.http("DELETE", f"/v1/decode/{request_id}") == (
            200,
            {"cancelled": True, "decode_request_id": request_id},
        )
        assert target.http("GET", f"/v1/decode/{request_id}")[0] == 404
        assert to.call(Op.STATE_META).meta["is_processing"] is False
    assert target.journal("completion")[-1]["cancelled"] is True


def events(engine, request_id):
    status, text = engine.http("GET", f"/v1/decode/{request_id}", headers={"Accept": "text/event-stream"}, raw=True)
    assert status == 200
    return [line.removeprefix(b"data: ") for line in text.split(b"\n\n") if line]


def test_a_stream_carries_every_piece_and_a_late_one_has_a_single_event(pair):
    source, target = pair
    with source.rpc() as rpc, target.rpc() as to:
        prefill = rpc.call(Op.PREFILL, payload={"prompt": prompt(12)})
        target.control("POST", "/hold", {"point": "engine.stream"})
        answer = to.call(Op.DECODE, payload=decode_payload(prefill.meta, prompt(12), prefill.payload, n_predict=5))
        request_id = answer.meta["decode_request_id"]
        target.control("POST", "/release", {"point": "engine.stream"})
        live = events(target, request_id)
        assert result(target, request_id)[0] == 200
        late = events(target, request_id)
    assert live[-1] == b"[DONE]" or len(live) == 1
    (only,) = late
    assert json.loads(only)["choices"][0]["finish_reason"] == "length"


# Faults as a client sees them on the wire. Each is switched on over the control endpoint, and off again.


@contextlib.contextmanager
def faulty(engine, *settings):
    engine.control("POST", "/faults", {"set": list(settings)})
    yield
    counts = engine.control("GET", "/state")["faults"]
    assert all(count["fired"] for count in counts.values()), counts
    engine.control("POST", "/faults", {"clear": True})


def test_the_engine_serves_a_clean_request_after_each_cut(pair):
    engine = pair[0]
    cuts = {
        "engine-refuse-connect": (ConnectionError,),
        "engine-wrong-magic-close": (),
        "engine-close-before-answer": (),
        "engine-close-in-header": (),
        "engine-truncated-meta": (),
    }
    for setting, errors in cuts.items():
        with faulty(engine, setting), contextlib.suppress(*errors), engine.rpc() as rpc:
            assert rpc.call(Op.INFO).whole is False, setting
        with engine.rpc() as rpc:
            assert rpc.call(Op.INFO).status == Status.OK


@pytest.mark.parametrize("setting", ["engine-accept-silence", "engine-pool-exhausted"])
def test_a_connection_that_is_never_answered(pair, setting):
    with faulty(pair[0], setting), pair[0].rpc() as rpc:
        rpc.socket.settimeout(0.2)
        with pytest.raises(TimeoutError):
            rpc.call(Op.INFO)


def test_a_silent_connection_is_closed(pair):
    with faulty(pair[0], "engine-idle-close=50"), pair[0].rpc() as rpc:
        assert rpc.socket.recv(1) == b""


@pytest.mark.parametrize(
    ("setting", "whole"),
    [("engine-truncated-payload=100", False), ("engine-meta-huge", None), ("engine-payload-len-huge=8EiB", None)],
)
def test_an_answer_that_announces_what_it_does_not_send(pair, setting, whole):
    with faulty(pair[0], setting), pair[0].rpc() as rpc:
        rpc.send(Op.PREFILL, payload=b'{"prompt":"hello"}')
        if whole is None:
            with pytest.raises(RemoteWireError, match="announces"):
                rpc.answer()
        else:
            answer = rpc.answer()
            assert (answer.whole, len(answer.payload)) == (whole, 100)


@pytest.mark.parametrize("setting", ["engine-unframed-error-text", "engine-overlong-answer,op=STATE_GET"])
def test_bytes_that_nothing_announced_stand_behind_the_answer(pair, setting):
    with faulty(pair[0], setting), pair[0].rpc() as rpc:
        rpc.call(Op.STATE_GET)
        assert not rpc.decoder.idle or rpc.socket.recv(100)


def test_an_undrained_payload_spoils_the_connection(pair):
    with faulty(pair[0], "engine-undrained-payload"), pair[0].rpc() as rpc:
        assert rpc.call(Op.STATE_PUT, payload=bytes(1000)).status == Status.BAD_REQUEST
        with contextlib.suppress(ConnectionError):
            assert rpc.call(Op.INFO).whole is False


def test_busy_in_its_three_disguises(pair):
    source, target = pair
    with source.rpc() as rpc, target.rpc() as to:
        prefill = rpc.call(Op.PREFILL, payload={"prompt": prompt(12)})
        payload = decode_payload(prefill.meta, prompt(12), prefill.payload)
        with faulty(target, "engine-busy,first=2"):
            answers = [to.call(Op.STATE_PUT, payload=prefill.payload).status for _ in range(3)]
            assert answers == [Status.BUSY, Status.BUSY, Status.OK]
        with faulty(target, "engine-busy-as-error"):
            answer = to.call(Op.PREFILL, payload={"prompt": prompt(12)})
            assert (answer.status, answer.meta) == (Status.ERROR, {})
            assert to.call(Op.STATE_META).meta["is_processing"] is True
        with faulty(target, "engine-busy-as-cap-mismatch"):
            answer = to.call(Op.DECODE, payload=payload)
            assert (answer.meta["error_code"], answer.meta["reason"]) == ("CAP_MISMATCH", "slot is busy")
        assert decoded(target, to.call(Op.DECODE, payload=payload)) == (200, 11)


@pytest.mark.parametrize(
    ("setting", "seen"),
    [
        ("engine-tokens-not-restored", (200, 0)),
        ("engine-raw-kv-accepted", (200, 0)),
        ("engine-frozen-slot=50", (200, 0)),
        ("engine-restore-error-late", (400, "KV restore failed (llama_state_seq_set_data returned 0)")),
        ("engine-hash-mismatch", (400, "KV segment hash mismatch (corrupt stream)")),
        ("engine-gate-b-reject", (400, "Gate B identity mismatch after model load")),
        ("engine-n-past-after-restore=5", (200, 29)),
    ],
)
def test_what_becomes_of_an_accepted_decode(pair, setting, seen):
    source, target = pair
    tokens = prompt(30)
    with source.rpc() as rpc, target.rpc() as to, faulty(target, setting):
        prefill = rpc.call(Op.PREFILL, payload={"prompt": tokens})
        answer = to.call(Op.DECODE, payload=decode_payload(prefill.meta, tokens, prefill.payload))
        assert answer.meta["valid"] is True
        assert decoded(target, answer) == seen
        if seen[0] == 400:
            status, body = target.http("GET", f"/v1/decode/{answer.meta['decode_request_id']}")
            assert (status, body["error"]["message"]) == (404, "decode_request_id not found or expired")
            assert to.call(Op.STATE_META).meta["n_past"] == 0


def test_a_kv_segment_left_on_the_wire_is_taken_for_a_request(pair):
    source, target = pair
    with source.rpc() as rpc, target.rpc() as to, faulty(target, "engine-kv-left-on-wire"):
        prefill = rpc.call(Op.PREFILL, payload={"prompt": prompt(30)})
        answer = to.call(Op.DECODE, payload=decode_payload(prefill.meta, prompt(30), prefill.payload))
        assert decoded(target, answer) == (200, 0)
        with contextlib.suppress(ConnectionError):
            assert to.call(Op.INFO).whole is False


@pytest.mark.parametrize("how", ["truncated", "ntok-lie", "tgt-overflow", "bad-flags", "lone-flag", "v1-as-v2"])
def test_a_bad_blob_is_refused_by_the_reader(pair, how):
    with faulty(pair[0], f"engine-blob-bad={how}"), pair[0].rpc() as rpc:
        blob = rpc.call(Op.PREFILL, payload={"prompt": prompt(12)})
        assert blob.whole
        with pytest.raises(BlobRefused):
            read_blob(blob.payload, BlobLimits(4096, 2048, from_prefill=True))


@pytest.mark.parametrize(
    ("setting", "cached"),
    [("engine-logits-wrong", 29), ("engine-npast-ntok-differ=3", 29), ("engine-wrong-prefix", 0)],
)
def test_a_blob_that_is_good_enough_for_the_reader(pair, setting, cached):
    source, target = pair
    expected = plain(source, prompt(30))
    with faulty(source, setting), source.rpc() as rpc, target.rpc() as to:
        blob = rpc.call(Op.PREFILL, payload={"prompt": prompt(30)}).payload
        assert to.call(Op.STATE_PUT, payload=blob).status == Status.OK
        found = reply(target, prompt(30))
        assert found == (expected, cached, 30 - cached)


def test_a_checkpoint_of_the_wrong_kind_is_refused_and_a_missing_one_is_not_seen(tmp_path):
    with EngineProcess(tmp_path, ("-m", "toy:kind=hybrid")) as engine, engine.rpc() as rpc:
        expected = plain(engine, prompt(30))
        for setting, status, right in (
            ("engine-checkpoint-mislabelled", Status.ERROR, True),
            ("engine-checkpoint-missing", Status.OK, False),
        ):
            with faulty(engine, setting):
                blob = rpc.call(Op.PREFILL, payload={"prompt": prompt(30)}).payload
                assert rpc.call(Op.STATE_PUT, payload=blob).status == status
                assert (reply(engine, prompt(30))[0] == expected) is right


def test_a_poisoned_slot_ends_the_process(tmp_path):
    with EngineProcess(tmp_path, ("--fault", "engine-poison-then-crash")) as engine, engine.rpc() as rpc:
        blob = rpc.call(Op.PREFILL, payload={"prompt": prompt(12)}).payload
        assert rpc.call(Op.STATE_PUT, payload=blob).status == Status.ERROR
        with pytest.raises((ConnectionError, OSError)):
            engine.http("POST", "/completion", {"prompt": prompt(12), "id_slot": 0})
        assert engine.process.wait(20) == 134
        end = engine.journal("end")[-1]
        assert (end["by"], end["faults"]["engine-poison-then-crash"]["fired"]) == ("fault", 1)


@pytest.mark.parametrize("setting", ["engine-die-in-prefill", "engine-die-in-get", "engine-die-in-decode,only=3"])
def test_a_process_that_ends_while_it_works(tmp_path, setting):
    with EngineProcess(tmp_path, ("--fault", setting)) as engine, Client(engine.rpc_port) as rpc:
        if "decode" in setting:
            with pytest.raises((ConnectionError, OSError)):
                engine.http("POST", "/completion", {"prompt": prompt(12), "n_predict": 5})
        else:
            op = Op.PREFILL if "prefill" in setting else Op.STATE_GET
            with contextlib.suppress(ConnectionError):
                assert rpc.call(op, payload=b"{}" if op is Op.PREFILL else b"").whole is False
        assert engine.process.wait(20) == 134


def test_an_engine_that_is_back_at_once_with_empty_slots(pair):
    engine = pair[0]
    with engine.rpc() as rpc:
        rpc.call(Op.PREFILL, payload={"prompt": prompt(12)})
        with faulty(engine, "engine-die-and-return-empty"), contextlib.suppress(ConnectionError):
            assert rpc.call(Op.PREFILL, payload={"prompt": prompt(12)}).whole is False
    with engine.rpc() as rpc:
        assert rpc.call(Op.STATE_META).meta["n_past"] == 0


def test_slots_as_they_are_not(pair):
    engine = pair[0]
    with faulty(engine, "engine-slots-empty-list"):
        assert engine.http("GET", "/slots") == (200, [])
    with faulty(engine, "engine-slot-stuck"):
        assert {(slot["is_processing"], slot["n_remain"]) for slot in engine.http("GET", "/slots")[1]} == {(True, 0)}
    with faulty(engine, "engine-slow-health=50"):
        assert len(engine.http("GET", "/slots")[1]) == 2


def test_streams_that_do_not_end_as_they_should(pair):
    engine = pair[0]
    body = {"messages": [{"role": "user", "content": "hello"}], "stream": True, "max_tokens": 4}

    def stream():
        return engine.http("POST", "/v1/chat/completions", body, raw=True)[1]

    assert stream().count(b"data: ") == 7
    with faulty(engine, "engine-empty-done-stream"):
        assert stream() == b"data: [DONE]\n\n"
    with faulty(engine, "engine-single-delta-no-done"):
        text = stream()
        assert b"[DONE]" not in text
        assert text.count(b"data: ") == 2
    with faulty(engine, "engine-stream-cut=2"), pytest.raises(Exception, match="IncompleteRead"):
        stream()
