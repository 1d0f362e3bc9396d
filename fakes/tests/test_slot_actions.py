"""Save, restore, erase, share and adopt, on a decoder without a socket."""

from pathlib import Path

import pytest

from fakes.effects import SendShare, Sent
from fakes.point import Point
from fakes.steps import Sends
from fakes.tests.stage import Stage
from wire.attention import AttentionState, decode_attention, encode_attention
from wire.statefile import StateFile, TokenForm, decode_statefile, encode_statefile

CAPTURED = Path(__file__).parents[2] / "wire" / "tests" / "captured"
A, B = [0, 300, 301, 302, 303, 304], [0, 400, 401, 402, 403, 304]
NO_ROOM = "Unable to restore slot: No available space in KV cache or invalid slot save file"


@pytest.fixture
def stage():
    one = Stage()
    yield one
    one.machine.store.close()


def plain(prompt):
    return Stage().complete(prompt)["tokens"]


def action(stage, slot, name, **body):
    return stage.post(f"/slots/{slot}?action={name}", body)


def test_a_saved_slot_restored_elsewhere_costs_one_token_and_gives_the_same_reply(stage):
    stage.complete(A, n_predict=1, id_slot=0)
    saved = action(stage, 0, "save", filename="a.bin")[1]
    assert (saved["n_saved"], saved["n_written"]) == (6, len(stage.files.files["/a.bin"]))
    restored = action(stage, 1, "restore", filename="a.bin")[1]
    assert (restored["n_restored"], restored["n_read"]) == (6, saved["n_written"])
    body = stage.complete(A, id_slot=1)
    assert (body["timings"]["cache_n"], body["timings"]["prompt_n"]) == (5, 1)
    assert body["tokens"] == plain(A)


def test_the_file_is_llama_cpps(stage):
    stage.complete(A, n_predict=1, id_slot=1)
    action(stage, 1, "save", filename="a.bin")
    file = decode_statefile(stage.files.files["/a.bin"])
    state = decode_attention(file.state)
    assert (file.tokens, file.form, file.version) == (tuple(A), TokenForm.COUNTED, 4)
    assert (state.n_stream, state.stream, state.positions, len(state.keys)) == (2, 1, (0, 1, 2, 3, 4, 5), 2)


def test_an_empty_slot_saves_the_bytes_a_real_server_saves(stage):
    assert action(stage, 0, "save", filename="e.bin")[1]["n_saved"] == 0
    assert stage.files.files["/e.bin"] == (CAPTURED / "empty.bin").read_bytes()
    stage.complete(A, id_slot=1)
    assert action(stage, 1, "restore", filename="e.bin")[1]["n_restored"] == 0
    assert len(stage.machine.slots[1].tokens) == 0


def test_the_bare_form_is_still_read(stage):
    stage.complete(A, n_predict=1, id_slot=0)
    action(stage, 0, "save", filename="a.bin")
    file = decode_statefile(stage.files.files["/a.bin"])
    stage.files.files["/a.bin"] = encode_statefile(StateFile(file.tokens, TokenForm.BARE, file.state))
    assert action(stage, 1, "restore", filename="a.bin")[1]["n_restored"] == 6


def corrupted(stage, change):
    stage.complete(A, n_predict=1, id_slot=0)
    action(stage, 0, "save", filename="a.bin")
    stage.files.files["/a.bin"] = change(stage.files.files["/a.bin"])
    stage.complete(B, id_slot=1)
    return action(stage, 1, "restore", filename="a.bin")


@pytest.mark.parametrize(
    "change",
    [
        lambda data: b"",
        lambda data: b"junk" * 20,
        lambda data: data[:-1],
        lambda data: data[:40],
        lambda data: data + b"x",
        lambda data: data[:4] + b"\3" + data[5:],
        lambda data: (CAPTURED / "slot0.bin").read_bytes(),
    ],
    ids=["empty", "junk", "cut by one", "cut", "longer", "other version", "a real model's"],
)
def test_a_bad_file_has_the_one_text_and_empties_the_slot(stage, change):
    status, body = corrupted(stage, change)
    assert (status, body["error"]["message"]) == (400, NO_ROOM)
    assert len(stage.machine.slots[1].tokens) == 0
    assert stage.journal.of("restore")[0]["status"] == 400


def test_a_missing_file_empties_the_slot_too(stage):
    stage.complete(B, id_slot=1)
    assert action(stage, 1, "restore", filename="none.bin")[1]["error"]["message"] == NO_ROOM
    assert stage.complete(B, id_slot=1)["timings"]["cache_n"] == 0


@pytest.mark.parametrize("argv", [("-np", "4"), ("-np", "2", "-kvu"), ("-ctk", "q8_0"), ("-ctv", "f32")])
def test_a_file_fits_only_a_server_of_the_same_shape(stage, argv):
    stage.complete(A, n_predict=1, id_slot=0)
    action(stage, 0, "save", filename="a.bin")
    other = Stage(*argv)
    other.files = other.machine.files = stage.files
    assert action(other, 0, "restore", filename="a.bin")[0] == 400
    same = Stage("-c", "4096")
    same.files = same.machine.files = stage.files
    assert action(same, 0, "restore", filename="a.bin")[0] == 200


def test_a_file_of_another_model_of_the_same_shape_is_taken_and_answers_wrongly(stage):
    other = Stage(model="toy:seed=99")
    other.complete(A, n_predict=1, id_slot=0)
    action(other, 0, "save", filename="a.bin")
    stage.files = stage.machine.files = other.files
    assert action(stage, 0, "restore", filename="a.bin")[0] == 200
    body = stage.complete(A, id_slot=0)
    assert body["timings"]["prompt_n"] == 1
    assert body["tokens"] != plain(A)


def test_a_token_outside_the_vocabulary_has_its_own_text(stage):
    def with_token(data):
        file = decode_statefile(data)
        return encode_statefile(StateFile((5000, *file.tokens[1:]), file.form, file.state))

    body = corrupted(stage, with_token)[1]
    assert body["error"]["message"] == "Unable to restore slot: Invalid tokens in slot save file"


def test_a_file_too_long_for_the_slot_has_its_own_text(stage):
    empty = AttentionState(2)
    stage.files.files["/long.bin"] = encode_statefile(
        StateFile((1,) * 1025, TokenForm.COUNTED, encode_attention(empty))
    )
    body = action(stage, 0, "restore", filename="long.bin")[1]
    assert body["error"]["message"] == "Unable to restore slot: Restored prompt does not fit in the slot context"


def test_erase_forgets_and_counts(stage):
    stage.complete(A, n_predict=3, id_slot=0)
    assert action(stage, 0, "erase") == (200, {"id_slot": 0, "n_erased": 8})
    assert stage.complete(A, id_slot=0)["timings"]["cache_n"] == 0


@pytest.mark.parametrize(("asked", "index"), [("0", 0), ("7", 1), ("-1", 1), ("1x", 1)])
def test_slot_ids_wrap_and_are_echoed(stage, asked, index):
    status, body = action(stage, asked, "erase")
    assert (status, body["id_slot"]) == (200, int(asked.rstrip("x")))
    assert stage.journal.of("erase")[0]["slot"] == index


@pytest.mark.parametrize(
    ("path", "body", "message"),
    [
        ("/slots/abc?action=erase", {}, "Invalid slot ID"),
        ("/slots/99999999999?action=erase", {}, "Invalid slot ID"),
        ("/slots/0?action=burn", {}, "Invalid action"),
        ("/slots/0", {}, "Invalid action"),
        ("/slots/0?action=save", {}, "[json.exception.out_of_range.403] key 'filename' not found"),
        ("/slots/0?action=save", {"filename": 7}, "[json.exception.type_error.302] type must be string, but is number"),
        ("/slots/0?action=save", b"{", "[json.exception.parse_error.101]"),
        ("/slots/0?action=share", {"socket": "/s"}, "Field 'n_tokens'"),
        ("/slots/0?action=share", {"socket": "/s", "n_tokens": 2000}, "Cannot share the KV cache"),
    ],
)
def test_bad_calls_are_refused(stage, path, body, message):
    status, answer = stage.post(path, body)
    assert status == 400
    assert answer["error"]["message"].startswith(message)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "a/b",
        "..",
        "a..b",
        ".",
        " a",
        "a ",
        "a.",
        "a:b",
        "a*",
        "a\\b",
        "a\tb",
        "a\x7f",
        "a\u2215b",
        "\ufeffa",
        "x" * 256,
    ],
)
def test_a_name_that_leads_elsewhere_is_refused(stage, name):
    assert action(stage, 0, "save", filename=name)[1]["error"]["message"] == "Invalid filename"
    assert stage.files.files == {}


@pytest.mark.parametrize("name", [".hidden", "a b.bin", "ÄÖ", "x" * 255])
def test_other_names_are_taken(stage, name):
    assert action(stage, 0, "save", filename=name)[0] == 200


def test_without_a_save_path_every_action_is_off():
    stage = Stage(save_path=None)
    for name in ("save", "restore", "erase", "share", "adopt"):
        status, body = action(stage, 0, name, filename="a")
        assert (status, body["error"]["type"]) == (501, "not_supported_error")


def test_an_action_waits_for_a_busy_slot(stage):
    stage.machine.holds.hold(Point.STARTED)
    busy = stage.start("POST", "/completion", {"prompt": A, "n_predict": 2, "id_slot": 0})
    erase = stage.start("POST", "/slots/0?action=erase")
    assert not erase.ended
    assert action(stage, 1, "erase")[0] == 200
    stage.machine.holds.release(Point.STARTED)
    busy.go()
    erase.go()
    assert erase.body["n_erased"] == 7


def test_a_share_sends_the_slots_own_cells_and_empties_its_tokens(stage):
    stage.complete(A, id_slot=1)
    job = stage.start("POST", "/slots/1?action=share", {"socket": "/tmp/s", "n_tokens": 6})
    assert isinstance(job.waiting, SendShare)
    assert (job.waiting.path, job.waiting.message.sends) == ("/tmp/s", Sends.ALL)
    header = job.waiting.message.header
    assert (header.cells.first, header.cells.count) == (1024, 6)
    assert header.regions == stage.machine.store.regions
    assert len(stage.machine.slots[1].tokens) > 0
    job.go(Sent(connected=True, n_descriptors=1))
    assert job.body == {"id_slot": 1, "share_id": header.share_id, "n_tokens": 6}
    assert len(stage.machine.slots[1].tokens) == 0
    entry = stage.journal.of("share")[0]
    assert (entry["n_tokens"], entry["connected"], entry["n_descriptors"]) == (6, True, 1)


def test_a_share_that_cannot_connect_is_refused_and_leaves_the_slot_alone(stage):
    stage.complete(A, id_slot=0)
    job = stage.start("POST", "/slots/0?action=share", {"socket": "/tmp/s", "n_tokens": 6})
    job.go(Sent(connected=False, n_descriptors=0, error="cannot connect to /tmp/s: refused"))
    assert job.status == 400
    assert "cannot connect to /tmp/s" in job.body["error"]["message"]
    assert len(stage.machine.slots[0].tokens) > 0


def fill(stage, slot, prompt):
    """Rows as a provider would write them."""
    machine = stage.machine
    machine.store.write(machine.slots[slot].first_cell, machine.model.rows(machine.model.cells(prompt)))


def test_adopted_rows_give_the_plain_reply_for_one_token(stage):
    stage.complete(B, id_slot=0)
    share_id = stage.share(0, 6).body["share_id"]
    fill(stage, 0, A)
    assert action(stage, 0, "adopt", share_id=share_id, tokens=A) == (200, {"id_slot": 0, "n_adopted": 6})
    body = stage.complete(A, id_slot=0)
    assert body["timings"]["prompt_n"] == 1
    assert body["tokens"] == plain(A)


def test_rows_of_b_under_the_tokens_of_a_give_bs_reply(stage):
    share_id = stage.share(0, 6).body["share_id"]
    fill(stage, 0, B)
    action(stage, 0, "adopt", share_id=share_id, tokens=A)
    body = stage.complete(A, id_slot=0)
    assert body["timings"]["prompt_n"] == 1
    assert body["tokens"] == plain(B) != plain(A)


def test_adopted_rows_are_read_when_they_are_used(stage):
    share_id = stage.share(0, 6).body["share_id"]
    action(stage, 0, "adopt", share_id=share_id, tokens=A)
    fill(stage, 0, A)
    assert stage.complete(A, id_slot=0)["tokens"] == plain(A)
    stage.machine.store.write(stage.machine.slots[0].first_cell + 2, [b"\0" * 32] * 4)
    assert stage.complete(A, id_slot=0)["tokens"] != plain(A)


def test_a_row_missing_at_the_end_alone_is_healed_and_two_are_not(stage):
    for missing, same in ((1, True), (2, False)):
        share_id = stage.share(0, 6).body["share_id"]
        stage.machine.store.write(0, [bytes(32 * 6)] * 4)
        fill(stage, 0, A[: 6 - missing])
        action(stage, 0, "adopt", share_id=share_id, tokens=A)
        assert (stage.complete(A, id_slot=0)["tokens"] == plain(A)) is same


LENT = object()
"""Stands for the id of the share that there is."""


@pytest.mark.parametrize(
    "body",
    [
        {"share_id": "other", "tokens": A},
        {"tokens": A},
        {"share_id": LENT, "tokens": []},
        {"share_id": LENT, "tokens": [True]},
        {"share_id": LENT, "tokens": [99_999]},
        {"share_id": LENT, "tokens": [1] * 2000},
    ],
)
def test_an_adopt_that_names_nothing_lent_is_refused(stage, body):
    lent = stage.share(0, 6).body["share_id"]
    status, answer = action(stage, 0, "adopt", **{key: lent if value is LENT else value for key, value in body.items()})
    assert status == 400
    assert answer["error"]["message"].startswith("Cannot adopt the shared cells: ")
    assert len(stage.machine.slots[0].tokens) == 0


@pytest.mark.parametrize("between", ["erase", "restore", "share", "adopt"])
def test_a_share_ends_by(stage, between):
    action(stage, 1, "save", filename="e.bin")
    share_id = stage.share(0, 6).body["share_id"]
    if between == "share":
        stage.share(0, 6)
    else:
        action(stage, 0, between, filename="e.bin", share_id=share_id, tokens=A)
    assert action(stage, 0, "adopt", share_id=share_id, tokens=A)[0] == 400


def test_a_request_on_a_lent_slot_does_not_end_the_share(stage):
    share_id = stage.share(0, 6).body["share_id"]
    stage.complete(B, id_slot=0)
    assert action(stage, 0, "adopt", share_id=share_id, tokens=A)[0] == 200


def test_a_hybrid_model_cannot_be_shared():
    stage = Stage(model="toy:kind=hybrid")
    status, body = action(stage, 0, "share", socket="/s", n_tokens=6)
    assert (status, body) == (400, {"error": {"message": "the KV cache of a hybrid model cannot be shared"}})
