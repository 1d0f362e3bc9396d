"""Steps on an engine: what a file may say, the forms state is sent in, and what a client makes of an answer."""

import asyncio

import pytest

from harness.errors import HarnessError, ScenarioError
from harness.http_session import open_http
from harness.hydra_client import HydraClient
from harness.scenario_file import load
from harness.steps.blob_forms import BlobForm, reshaped
from harness.steps.engine_act import EngineActor, EngineAt
from harness.steps.engine_spec import Decode
from harness.steps.prompt_parts import FreshPart
from harness.steps.spec import Step
from wire.blob import BlobV1, RawKv, StateBlob, encode_blob
from wire.blob_forms import read_for_decode, read_for_put
from wire.blob_reader import BlobLimits, BlobRefused, read_blob
from wire.hydra import Op, Status, encode_response

KV = bytes.fromhex("aabbccdd0000000011111111")
LOGITS = bytes(16)
BLOB = StateBlob(3, 3, (1, 15, 255), KV + LOGITS)
LIMITS = BlobLimits(300, 300)


def sent(form):
    return reshaped(encode_blob(BLOB), form, len(LOGITS))


def test_state_goes_out_as_it_came_or_with_other_checkpoints():
    assert sent(BlobForm.AS_IS) == encode_blob(BLOB)
    for form, version, checkpoint in (
        (BlobForm.V2, 2, None),
        (BlobForm.V2_CHECKPOINT, 2, False),
        (BlobForm.V3, 3, None),
        (BlobForm.V3_RECURRENT, 3, True),
    ):
        blob = read_blob(sent(form), LIMITS)
        assert (blob.version, blob.tokens, blob.rest) == (version, BLOB.tokens, KV + LOGITS)
        assert (None if blob.checkpoint is None else blob.checkpoint.head.recurrent_only) is checkpoint


def test_state_goes_out_without_its_head_or_with_an_old_one():
    assert read_for_decode(sent(BlobForm.RAW), LIMITS) == RawKv(KV)
    assert read_for_put(sent(BlobForm.V1), LIMITS) == BlobV1(3, BLOB.tokens, KV)
    assert sent(BlobForm.V1_TRAP)[0] == 2


@pytest.mark.parametrize(
    ("form", "check"),
    [(BlobForm.LYING, "B3"), (BlobForm.OVERFLOW, "B9"), (BlobForm.BAD_FLAGS, "B8"), (BlobForm.EMPTY, "B1")],
)
def test_damaged_state_breaks_the_check_that_it_is_named_for(form, check):
    with pytest.raises(BlobRefused) as refused:
        read_blob(sent(form), LIMITS)
    assert refused.value.check == check


def test_state_that_is_cut_is_a_byte_shorter():
    assert sent(BlobForm.CUT) == encode_blob(BLOB)[:-1]


def test_what_an_engine_sent_and_is_no_state_cannot_be_reshaped():
    with pytest.raises(HarnessError, match="cannot be read"):
        reshaped(b"\x05nonsense", BlobForm.V2, 0)


FILE = """
scenario: state goes from one engine to another
under_test: engine
peer: {}
steps:
  - {name: filled, at: peer, slot: 0, prefill: {prompt: [{tokens: 30}]}}
  - {name: decoded, slot: 0, decode: {state_of: filled, prompt: [{prompt_of: filled}]}}
checks:
  it is answered:
    step: {status: 200}
    request: decoded
"""


def loaded(tmp_path, text):
    path = tmp_path / "one.yaml"
    path.write_text(text)
    return load(path)


def test_a_scenario_on_an_engine_is_loaded(tmp_path):
    filled, decoded = loaded(tmp_path, FILE).steps
    assert (filled.on, decoded.act.form) == ("peer", BlobForm.AS_IS)


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("under_test: engine", "under_test: decoder", "under_test: engine"),
        ("peer: {}\n", "", "there is no `peer`"),
        ("state_of: filled", "state_of: other", "no earlier step that leaves state is called 'other'"),
        ("slot: 0, prefill", "prefill", "prefill needs a slot"),
        ("prompt_of: filled", "prompt_of: felled", "no earlier step that has a prompt is called 'felled'"),
        ("state_of: filled,", "state_of: filled, as: v4,", "unknown name 'v4'"),
        ("peer: {}", "peer: {faults: [engine-bussy]}", "did you mean engine-busy"),
        ("peer: {}", "peer: {faults: [kvshare-refuse]}", "is played by the decoder"),
    ],
)
def test_what_a_file_gets_wrong_is_named(tmp_path, old, new, named):
    with pytest.raises(ScenarioError) as wrong:
        loaded(tmp_path, FILE.replace(old, new, 1))
    assert named.replace("'", "") in str(wrong.value).replace("'", "")


def called(answer, *, seconds=5.0):
    """What the client makes of a peer that answers with these bytes and closes."""

    async def serve(reader, writer):
        await reader.read(100)
        writer.write(answer)
        writer.close()

    async def run():
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        async with server:
            port = server.sockets[0].getsockname()[1]
            return await HydraClient("127.0.0.1", port).call(Op.INFO, 0, b"", "t", seconds)

    return asyncio.run(run())


def test_an_answer_is_read_whole():
    answer = called(encode_response(Status.BUSY, meta=b'{"error":""}', payload=b"kv"))
    assert (answer.word, answer.meta, answer.payload, answer.failure) == ("BUSY", {"error": ""}, b"kv", "")


@pytest.mark.parametrize(
    ("answer", "failure"),
    [
        (b"", "closed without an answer"),
        (encode_response(Status.OK, payload=b"kv")[:-1], "payload bytes missing"),
        (b"\0\xff\xff\xff" + bytes(8), "bytes of meta"),
    ],
)
def test_what_goes_wrong_is_part_of_the_answer(answer, failure):
    found = called(answer)
    assert (found.status, found.word) == (None, "")
    assert failure in found.failure


def test_a_peer_that_cannot_be_reached_is_part_of_the_answer():
    found = asyncio.run(HydraClient("127.0.0.1", 1).call(Op.INFO, 0, b"", "t", 5.0))
    assert "connection failed" in found.failure


ACCEPTED = encode_response(Status.OK, meta=b'{"valid": true, "decode_request_id": 7, "n_past": "far"}')


def decoded(http_answer):
    """What is written down of a DECODE that was accepted, and whose result is read from these bytes."""

    def answering(data):
        async def serve(reader, writer):
            await reader.read(1000)
            writer.write(data)
            writer.close()

        return serve

    async def ids_of(url, text):
        return (len(text),)

    async def run():
        rpc = await asyncio.start_server(answering(ACCEPTED), "127.0.0.1", 0)
        http = await asyncio.start_server(answering(http_answer), "127.0.0.1", 0)
        async with rpc, http, open_http() as session:
            rpc_port, http_port = (server.sockets[0].getsockname()[1] for server in (rpc, http))
            at = EngineAt(HydraClient("127.0.0.1", rpc_port), f"http://127.0.0.1:{http_port}")
            act = Decode((FreshPart(3),))
            step = Step("decoded", act, slot=0, deadline_s=2.0)
            return await EngineActor(session, ids_of).do(step, act, at, (1, 2, 3))

    return asyncio.run(run())


def page(body, status="200 OK"):
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}".encode()


def test_a_stored_result_is_read():
    whole = '{"choices": [{"message": {"content": "four"}}], "usage": {"prompt_tokens_details": {"cached_tokens": 2}}}'
    record = decoded(page(whole))
    assert (record.status, record.failure, record.ids, record.body["cached_tokens"]) == (200, "", (4,), 2)


@pytest.mark.parametrize(
    ("answer", "status", "failure"),
    [
        (b"", None, "the stored result could not be read: ServerDisconnectedError"),
        (b"SSH-2.0\r\n\r\n", None, "the stored result could not be read"),
        (page("soon", "202 Accepted"), None, "the result was never stored"),
        (page("no JSON"), 200, ""),
        (page("[1]"), 200, ""),
        (page('{"choices": 5, "usage": [], "timings": null}'), 200, ""),
    ],
)
def test_a_stored_result_that_is_none_is_part_of_the_record(answer, status, failure):
    record = decoded(answer)
    assert (record.status, record.ids) == (status, ())
    assert failure in record.failure
    assert (record.body["rpc"], record.body["cached_tokens"], record.body["n_past_ms"]) == ("OK", None, None)
