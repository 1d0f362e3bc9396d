"""POST /slots/{id}?action=save|restore|erase|share|adopt.

An action waits until its slot is free and holds it until it is done. Share and adopt are not upstream's: they lend
the slot's cells to a router and take them back filled.
"""

from __future__ import annotations

import errno
import os
import re
import signal
from array import array
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, TypeVar

from fakes.api_error import ApiError
from fakes.body import Body, parse_body, string, type_name
from fakes.deciding import Refused, carry_out, stall
from fakes.disk import is_valid_filename
from fakes.effects import Effect, Flow, Pause, Reply, SendShare, Sent
from fakes.http1 import Request
from fakes.log import Level
from fakes.machine import Machine
from fakes.point import Point
from fakes.replies import to_json
from fakes.scheduler import Task
from fakes.slot_state import BadFile, restore, save
from fakes.slots import Move, Slot, State, wrapped
from fakes.spec import Kind
from fakes.steps import (
    Adopted,
    Answer,
    Checked,
    Decision,
    Die,
    Erased,
    Go,
    Opened,
    Refuse,
    Restored,
    Saved,
    ShareMessage,
    Stall,
)
from wire.region import Cells, ShareHeader

_ID = re.compile(r"\s*([+-]?\d+)")
_NOT_CONFIGURED = "This server does not support slots action. Start it with `--slot-save-path`"
_HYBRID = "the KV cache of a hybrid model cannot be shared"

S = TypeVar("S")
Done = Generator[Effect, Any, Reply]


@dataclass(frozen=True, slots=True)
class Call:
    """One action on one slot. `asked` is the id of the path, `index` the slot it means."""

    machine: Machine
    asked: int
    index: int
    body: Body
    request: Request

    def passes(self, point: Point, step: S) -> Generator[Effect, Any, S]:
        """The step that is really done at `point`, after any hold there."""
        return self.machine.passes(point, step, self.request, self.index)

    @property
    def slot(self) -> Slot:
        return self.machine.slots[self.index]

    def journal(self, event: str, status: int, **fields: Any) -> None:
        fields |= self.machine.scope_of(self.request)
        self.machine.journal.write(event, slot=self.index, asked=self.asked, status=status, **fields)


def slot_action(machine: Machine, request: Request, id_text: str) -> Flow:
    """The action that the query names."""
    if machine.options.slot_save_path is None:
        raise ApiError(501, _NOT_CONFIGURED)
    asked = _slot_id(id_text)
    action = ACTIONS.get(request.query.get("action", ""))
    if action is None:
        raise ApiError(400, "Invalid action")
    needs_body, run = action
    body = parse_body(request.body) if needs_body else {}
    call = Call(machine, asked, wrapped(asked, machine.shape.n_slots), body, request)
    return (yield from run(call))


def _slot_id(text: str) -> int:
    found = _ID.match(text)
    if found is None or not -(1 << 31) <= int(found[1]) < 1 << 31:
        raise ApiError(400, "Invalid slot ID")
    return int(found[1])


def _on_slot(call: Call, point: Point, act: Callable[[], Done], refused: Callable[[Refuse], None]) -> Done:
    """Wait for the slot, let a fault decide, act, and give the slot back."""
    machine = call.machine
    task = Task(machine.task_id(), call.index, is_action=True)
    yield from machine.occupy(task, call.request)
    try:
        decision: Decision = yield from call.passes(point, Go())
        if isinstance(decision, Refuse):
            machine.poisoned = machine.poisoned or decision.poisons
            refused(decision)
        if not isinstance(decision, Stall):
            yield from carry_out(decision, machine.meet)
            return (yield from act())
    finally:
        machine.leave(task)
    yield from stall()
    raise AssertionError("a stall never ends")


def _answer(status: int, body: dict[str, Any]) -> Reply:
    return Reply(status, to_json(body))


def _filename(call: Call) -> tuple[str, str]:
    name = string(call.body, "filename")
    if not is_valid_filename(name):
        raise ApiError(400, "Invalid filename")
    return name, str(call.machine.options.slot_save_path) + name


def _ms_since(machine: Machine, start_ns: int) -> float:
    return round((machine.clock_ns() - start_ns) / 1e6, 3)


def save_action(call: Call) -> Done:
    """Slot to file."""
    machine, slot = call.machine, call.slot
    name, path = _filename(call)

    def act() -> Done:
        start_ns = machine.clock_ns()
        data = save(machine, slot)
        slot.move(Move.SAVE)
        taken = Saved(slot.id, machine.shape.n_slots, len(data), len(slot.tokens))
        step = yield from call.passes(Point.SAVE_TAKEN, taken)
        if step.slot != slot.id:
            data = save(machine, machine.slots[step.slot])
        try:
            _write(machine, path, data, step)
        except OSError as error:
            call.journal("save", 500, filename=name, n_saved=0, why=str(error))
            raise ApiError(500, "Unable to save slot") from None
        n_saved = step.n_saved
        call.journal("save", 200, filename=name, n_saved=n_saved, n_written=len(data))
        timings = {"save_ms": _ms_since(machine, start_ns)}
        body = {"id_slot": call.asked, "filename": name, "n_saved": n_saved, "n_written": len(data), "timings": timings}
        return _answer(200, body)

    def refused(refuse: Refuse) -> None:
        call.journal("save", refuse.status, filename=name, n_saved=0)

    return (yield from _on_slot(call, Point.SAVE_ASKED, act, refused))


def _write(machine: Machine, path: str, data: bytes, step: Saved) -> None:
    if step.errno in (0, errno.ENOSPC):
        machine.files.write(path, data if step.keep is None else data[: step.keep])
    if step.errno:
        raise OSError(step.errno, os.strerror(step.errno), path)


def restore_action(call: Call) -> Done:
    """File to slot. One that fails empties the slot."""
    machine, slot = call.machine, call.slot
    name, path = _filename(call)

    def act() -> Done:
        start_ns = machine.clock_ns()
        slot.move(Move.RESTORE)
        slot.tokens = array("i")
        opened = yield from call.passes(Point.RESTORE_READ, Opened())
        try:
            if opened.errno:
                raise OSError(opened.errno, os.strerror(opened.errno), path)
            data = machine.files.read(path)
            tokens = restore(machine, slot, data, keeps_rows=opened.keeps_rows)
        except (OSError, BadFile) as error:
            public = error.public if isinstance(error, BadFile) else BadFile("").public
            machine.log.srv(Level.ERROR, "restore", f"failed to restore {path}: {error}")
            call.journal("restore", 400, filename=name, n_restored=0, why=str(error))
            raise ApiError(400, f"Unable to restore slot: {public}") from None
        step = yield from call.passes(Point.RESTORED, Restored(len(tokens), tokens))
        if step.dies:
            yield from carry_out(Die(signal.SIGSEGV), machine.meet)
        slot.tokens = array("i", step.tokens)
        if step.rows_lost:
            lost = bytes(step.rows_lost * machine.spec.row_bytes)
            machine.store.write(slot.first_cell, [lost] * machine.model.n_tensors)
        call.journal("restore", 200, filename=name, n_restored=step.n_restored, n_read=len(data))
        timings = {"restore_ms": _ms_since(machine, start_ns)}
        body = {"id_slot": call.asked, "filename": name, "n_restored": step.n_restored, "n_read": len(data)}
        return _answer(200, body | {"timings": timings})

    def refused(refuse: Refuse) -> None:
        slot.move(Move.RESTORE)
        slot.tokens = array("i")
        call.journal("restore", refuse.status, filename=name, n_restored=0, why=refuse.message)

    return (yield from _on_slot(call, Point.RESTORE_ASKED, act, refused))


def erase_action(call: Call) -> Done:
    """Forget the slot's tokens."""
    slot = call.slot

    def act() -> Done:
        step = yield from call.passes(Point.ERASED, Erased(len(slot.tokens)))
        if step.forgets:
            slot.move(Move.ERASE)
            slot.tokens = array("i")
        call.journal("erase", 200, n_erased=step.n_erased)
        return _answer(200, {"id_slot": call.asked, "n_erased": step.n_erased})

    def refused(refuse: Refuse) -> None:
        call.journal("erase", refuse.status, n_erased=0)

    return (yield from _on_slot(call, Point.ERASE_ASKED, act, refused))


def share_action(call: Call) -> Done:
    """Lend the slot's cells: connect to the router's socket, send the descriptors, forget the tokens."""
    machine, slot = call.machine, call.slot
    socket, n_tokens = string(call.body, "socket"), _count(call.body, slot)

    def note(status: int, **fields: Any) -> None:
        known: dict[str, Any] = {"share_id": None, "connected": False, "n_descriptors": 0}
        call.journal("share", status, n_tokens=n_tokens, socket=socket, **known | fields)

    def act() -> Done:
        if machine.spec.kind is Kind.HYBRID:
            refuse = Refuse(400, _HYBRID, {"error": {"message": _HYBRID}})
            refused(refuse)
            raise Refused(refuse)
        share_id = machine.new_name()
        cells = Cells(slot.first_cell, n_tokens)
        header = ShareHeader(share_id, machine.store.regions, machine.store.tensors, cells)
        message = yield from call.passes(Point.SHARE_MESSAGE, ShareMessage(header))
        if message.late_s and not message.after_reply:
            yield Pause(message.late_s)
        sent: Sent = (yield SendShare(socket, message)) or Sent(connected=False, n_descriptors=0)
        if sent.error is not None:
            note(400, connected=sent.connected, n_descriptors=sent.n_descriptors)
            raise ApiError(400, f"Cannot share the KV cache: {sent.error}")
        slot.move(Move.SHARE)
        slot.share_id = share_id
        slot.tokens = array("i")
        note(200, share_id=share_id, connected=sent.connected, n_descriptors=sent.n_descriptors)
        body = {"id_slot": call.asked, "share_id": share_id, "n_tokens": n_tokens}
        answer = yield from call.passes(Point.SHARE_REPLY, Answer(200, body))
        return _answer(answer.status, dict(answer.body))

    def refused(refuse: Refuse) -> None:
        note(refuse.status)

    return (yield from _on_slot(call, Point.SHARE_ASKED, act, refused))


def _count(body: Body, slot: Slot) -> int:
    value = body.get("n_tokens")
    if isinstance(value, bool) or not isinstance(value, int):
        raise ApiError(
            400, f"Field 'n_tokens': [json.exception.type_error.302] type must be number, but is {type_name(value)}"
        )
    if not 1 <= value <= slot.n_ctx:
        raise ApiError(400, f"Cannot share the KV cache: {value} tokens do not fit a slot of {slot.n_ctx}")
    return value


def adopt_action(call: Call) -> Done:
    """Take the lent cells as they are, under the tokens that the router names. The rows are not looked at."""
    slot, share_id = call.slot, call.body.get("share_id")

    def act() -> Done:
        tokens = _tokens(call)
        checked = yield from call.passes(Point.ADOPT_CHECKED, _checked(slot, share_id, tokens))
        if checked.why or isinstance(tokens, str):
            note(400, 0)
            raise ApiError(400, f"Cannot adopt the shared cells: {checked.why}")
        slot.move(Move.ADOPT)
        step = yield from call.passes(Point.ADOPTED, Adopted(len(tokens), tuple(tokens)))
        slot.tokens = array("i", step.tokens)
        note(200, step.n_adopted)
        body = {"id_slot": call.asked, "n_adopted": step.n_adopted}
        answer = yield from call.passes(Point.ADOPT_REPLY, Answer(200, body))
        return _answer(answer.status, dict(answer.body))

    def note(status: int, n_adopted: int) -> None:
        call.journal("adopt", status, share_id=share_id, tokens=call.body.get("tokens"), n_adopted=n_adopted)

    def refused(refuse: Refuse) -> None:
        note(refuse.status, 0)

    return (yield from _on_slot(call, Point.ADOPT_ASKED, act, refused))


def _checked(slot: Slot, share_id: Any, tokens: array[int] | str) -> Checked:
    if isinstance(tokens, str):
        return Checked(tokens)
    if slot.state is not State.LENT or slot.share_id != share_id:
        return Checked("the slot is not shared under this share_id", slot.state is State.LENT)
    return Checked()


def _tokens(call: Call) -> array[int] | str:
    """The tokens to adopt, or what is wrong with them."""
    value = call.body.get("tokens")
    if not isinstance(value, list) or not value:
        return "no list of tokens"
    if len(value) > call.slot.n_ctx:
        return f"{len(value)} tokens do not fit a slot of {call.slot.n_ctx}"
    vocab = call.machine.spec.vocab
    if any(type(token) is not int or not 0 <= token < vocab for token in value):
        return "a token that is no id of the vocabulary"
    return array("i", value)


ACTIONS: dict[str, tuple[bool, Callable[[Call], Done]]] = {
    "save": (True, save_action),
    "restore": (True, restore_action),
    "erase": (False, erase_action),
    "share": (True, share_action),
    "adopt": (True, adopt_action),
}
"""Whether the action reads its body, and what it does."""
