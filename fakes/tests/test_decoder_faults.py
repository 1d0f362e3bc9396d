"""Each fault of the decoder: that it fires, and that it leaves the rest alone."""

import pytest

from fakes.effects import Await, SendShare, Sent
from fakes.steps import Sends
from fakes.tests.stage import Stage

PROMPT = [0, 300, 301, 302, 303, 304]


def everything(stage, n_tokens=6):
    """A share, an adopt, a save, a restore, an erase and a reply, and what each came to."""
    seen = {}
    job = stage.start("POST", "/slots/0?action=share", {"socket": "/tmp/s", "n_tokens": n_tokens})
    seen["sends"] = job.waiting.message.sends if isinstance(job.waiting, SendShare) else None
    if isinstance(job.waiting, SendShare):
        job.go(Sent(connected=True, n_descriptors=1))
    seen["share"] = (job.status, job.body if job.status != 200 else sorted(job.body))
    machine = stage.machine
    machine.store.write(0, machine.model.rows(machine.model.cells(PROMPT)))
    share_id = machine.slots[0].share_id
    seen["adopt"] = stage.post("/slots/0?action=adopt", {"share_id": share_id, "tokens": PROMPT})[0]
    seen["reply"] = stage.complete(PROMPT, id_slot=1)["tokens"]
    seen["save"] = stage.post("/slots/1?action=save", {"filename": "a.bin"})[0]
    seen["restore"] = stage.post("/slots/1?action=restore", {"filename": "a.bin"})
    seen["held"] = len(machine.slots[1].tokens)
    again = stage.complete(PROMPT, id_slot=1, n_predict=len(seen["reply"]))["tokens"]
    seen["again"] = "the same reply" if again == seen["reply"] else "another reply"
    seen["erase"] = stage.post("/slots/1?action=erase", {})[0]
    return seen


def differences(fault):
    honest, faulty = everything(Stage()), everything(Stage(faults=(fault,)))
    honest["restore"][1].pop("timings", None)
    if faulty["restore"][0] == 200:
        faulty["restore"][1].pop("timings", None)
    return {name: faulty[name] for name in honest if faulty[name] != honest[name]}


NO_MESSAGE = "the KV cache of a hybrid model cannot be shared"
NO_ROOM = "Unable to restore slot: No available space in KV cache or invalid slot save file"
EXPECTED = {
    "kvshare-refuse": {"sends": None, "share": (400, {"error": {"message": NO_MESSAGE}}), "adopt": 400},
    "kvshare-hang": {"sends": None, "share": (None, None), "adopt": 400},
    "kvshare-no-share-id": {"share": (200, ["id_slot", "n_tokens"])},
    "kvshare-no-descriptors": {"sends": Sends.HEADER},
    "kvshare-adopt-refuse": {"adopt": 400},
    "restore-refuse": {
        "restore": (400, {"error": {"code": 400, "message": NO_ROOM, "type": "invalid_request_error"}}),
        "held": 0,
    },
    "restore-empty": {"held": 0},
    "restore-window=2": {"again": "another reply"},
    "restore-checkpoint=4": {"held": 7},
}


TESTED = {fault.partition("=")[0] for fault in EXPECTED}


@pytest.mark.parametrize("fault", EXPECTED)
def test_it_changes_what_it_says_and_nothing_else(fault):
    assert differences(fault) == EXPECTED[fault]


@pytest.mark.parametrize("fault", EXPECTED)
def test_it_fires_once_for_each_time_it_is_reached_and_can_be_limited(fault):
    stage = Stage(faults=(fault,))
    everything(stage)
    name = fault.partition("=")[0]
    assert stage.player.counts()[name] == {"reached": 1, "fired": 1}
    limited = Stage(faults=(f"{fault},only=2",))
    first = everything(limited)
    assert limited.player.counts()[name] == {"reached": 1, "fired": 0}
    assert first == everything(Stage()) | {"restore": first["restore"]}


@pytest.mark.parametrize("fault", EXPECTED)
def test_after_it_a_clean_request_is_served(fault):
    stage = Stage(faults=(fault,))
    everything(stage)
    stage.player.clear()
    assert everything(stage)["reply"] == everything(Stage())["reply"]


@pytest.mark.parametrize(("value", "sends"), [("nothing", Sends.NOTHING), ("no-connection", Sends.NO_CONNECTION)])
def test_what_reaches_the_socket_instead_of_descriptors(value, sends):
    stage = Stage(faults=(f"kvshare-no-descriptors={value}",))
    assert everything(stage)["sends"] is sends


def test_a_hung_share_holds_no_slot_and_ends_with_its_client():
    stage = Stage(faults=("kvshare-hang",))
    job = stage.start("POST", "/slots/0?action=share", {"socket": "/tmp/s", "n_tokens": 6})
    assert isinstance(job.waiting, Await)
    assert stage.post("/slots/0?action=erase", {})[0] == 200
    job.leave()
    assert job.status == 0


def test_an_acknowledged_restore_counts_every_token_and_reuses_none():
    stage = Stage(faults=("restore-empty",))
    stage.complete(PROMPT, n_predict=1, id_slot=0)
    stage.post("/slots/0?action=save", {"filename": "a.bin"})
    assert stage.post("/slots/1?action=restore", {"filename": "a.bin"})[1]["n_restored"] == 6
    body = stage.complete(PROMPT, id_slot=1)
    assert (body["timings"]["cache_n"], body["timings"]["prompt_n"]) == (0, 6)
    assert stage.journal.of("restore")[0]["n_restored"] == 6


def test_a_restore_to_a_checkpoint_is_reused_up_to_there_and_answers_the_same():
    stage = Stage(faults=("restore-checkpoint=4",))
    plain = stage.complete(PROMPT, n_predict=4, id_slot=0)
    stage.post("/slots/0?action=erase", {})
    stage.complete(PROMPT, n_predict=1, id_slot=0)
    stage.post("/slots/0?action=save", {"filename": "a.bin"})
    assert stage.post("/slots/1?action=restore", {"filename": "a.bin"})[1]["n_restored"] == 6
    body = stage.complete(PROMPT, n_predict=4, id_slot=1)
    assert (body["timings"]["cache_n"], body["timings"]["prompt_n"]) == (2, 4)
    assert body["content"] == plain["content"]
