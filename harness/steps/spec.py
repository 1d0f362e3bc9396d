"""The steps of a scenario as values, and the shapes they have in a file. An engine's own are in `engine_spec`.

    steps:
      - {name: cold, slot: 0, complete: {prompt: [{tokens: 200}], n_predict: 32}}
      - {name: saved, slot: 0, save: full.bin}
      - {restart: {}}
      - {name: restored, slot: 0, restore: full.bin}
      - {name: again, slot: 0, complete: {prompt: [{prompt_of: cold}], n_predict: 32}}

A prompt is a list of parts that are put one after the other as token ids, so that nothing is tokenized anew at a
seam. A step waits for those before it, unless `once` says to send it as soon as another has begun to answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from harness.shapes import AnyText, Fields, Flag, Key, ListOf, MapOf, OneOf, Plain, Seconds, Shape, Text, Whole
from harness.steps.engine_spec import ENGINE_ACTS, MEANS, Decode, EngineAct, Get, On, Prefill, Put
from harness.steps.prompt_parts import PART, EarlierPart, Part

DEADLINE_S = 10.0


@dataclass(frozen=True, slots=True)
class Complete:
    """A greedy completion of token ids. `body` adds fields."""

    prompt: tuple[Part, ...]
    n_predict: int = 32
    stream: bool = False
    body: Mapping[str, Any] = field(default_factory=dict)


class Action(StrEnum):
    """What a slot can be told to do."""

    SAVE = "save"
    RESTORE = "restore"
    ERASE = "erase"


@dataclass(frozen=True, slots=True)
class SlotAction:
    """A slot action; `file` is empty for an erase."""

    action: Action
    file: str = ""


@dataclass(frozen=True, slots=True)
class Call:
    """Any request: a body as JSON, or as text as it stands."""

    method: str
    path: str
    json: Any = None
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Restart:
    """End the decoder and start it afresh, with another model or more flags where given."""

    model: str = ""
    args: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Damage:
    """Change a file in the slot-save folder: keep only its head, turn bytes over well inside, or write it anew."""

    file: str
    keep_bytes: int | None = None
    flip_bytes: int | None = None
    write: str | None = None
    write_u32: Mapping[int, int] = field(default_factory=dict)


Act = Complete | SlotAction | Call | Restart | Damage | EngineAct


@dataclass(frozen=True, slots=True)
class Step:
    """One step. `slot` None leaves the choice to the decoder; `on` is which engine it is done to."""

    name: str
    act: Act
    slot: int | None = None
    once: str = ""
    deadline_s: float = DEADLINE_S
    on: On = On.BUILD


_NAME = Text(r"[A-Za-z0-9_.-]+", "a name of letters, digits, '_', '-' and '.'")
_FILE = Text(means="a file's name")
_ACTS = ("complete", *Action, "call", "restart", "damage", *ENGINE_ACTS)


_COMPLETE = Fields(
    Complete,
    {
        "prompt": Key(ListOf(PART, least=1), "the parts of the prompt", required=True),
        "n_predict": Key(Whole(0, 100_000), "32 unless said"),
        "stream": Key(Flag(), "as an event stream, so that `once` can wait for its first token"),
        "body": Key(MapOf(Plain()), "more fields of the body"),
    },
)


def _call(get: str | None = None, post: str | None = None, json: Any = None, text: str | None = None) -> Call:
    path = get or post
    if path is None or (get is not None and post is not None):
        raise ValueError("expected one of get, post")
    if json is not None and text is not None:
        raise ValueError("expected one of json, text")
    return Call("GET" if get is not None else "POST", path, json, text)


CALL = Fields(
    _call,
    {
        "get": Key(Text(), "the path of a GET"),
        "post": Key(Text(), "the path of a POST"),
        "json": Key(Plain(), "its body"),
        "text": Key(AnyText(), "its body as it stands"),
    },
)

_RESTART = Fields(
    Restart,
    {"model": Key(Text(), "another model"), "args": Key(ListOf(Text()), "more of llama-server's flags")},
)


def _damage(write_u32: Mapping[str, int] | None = None, **values: Any) -> Damage:
    offsets = {int(offset): value for offset, value in (write_u32 or {}).items()}
    found = Damage(**values, write_u32=offsets)
    given = [found.keep_bytes is not None, found.flip_bytes is not None, found.write is not None, bool(offsets)]
    if sum(given) != 1:
        raise ValueError("expected one of keep_bytes, flip_bytes, write, write_u32")
    return found


_DAMAGE = Fields(
    _damage,
    {
        "file": Key(Text(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", "a file's name"), "in the slot-save folder", required=True),
        "keep_bytes": Key(Whole(0), "cut it to so many bytes"),
        "flip_bytes": Key(Whole(1), "turn over so many bytes, from three fifths of it on"),
        "write": Key(AnyText(), "make it hold this text"),
        "write_u32": Key(MapOf(Whole(0, 2**32 - 1)), "put these numbers at these offsets"),
    },
)


def _step(
    name: str = "",
    slot: int | None = None,
    once: str = "",
    deadline_s: float = DEADLINE_S,
    at: str = On.BUILD,
    **acts: Any,
) -> Step:
    if len(acts) != 1:
        raise ValueError(f"expected one of {', '.join(_ACTS)}")
    kind, value = next(iter(acts.items()))
    act: Act = SlotAction(Action(kind), "" if kind == Action.ERASE else value) if kind in tuple(Action) else value
    if isinstance(act, SlotAction | EngineAct) and slot is None:
        raise ValueError(f"{kind} needs a slot")
    return Step(name, act, slot, once, deadline_s, On(at))


_STEP = Fields(
    _step,
    {
        "name": Key(_NAME, "how checks and later steps call it; its number unless said"),
        "slot": Key(Whole(0, 1_000), "the slot; left out, the decoder's choice"),
        "once": Key(_NAME, "send it as soon as that step has begun to answer, without waiting for anything else"),
        "deadline_s": Key(Seconds(), f"{DEADLINE_S:g} unless said"),
        "complete": Key(_COMPLETE, "a greedy completion of token ids"),
        "save": Key(_FILE, "save the slot to this file"),
        "restore": Key(_FILE, "restore the slot from this file"),
        "erase": Key(Flag(), "`true`: empty the slot"),
        "call": Key(CALL, "any request"),
        "restart": Key(_RESTART, "end the decoder and start it afresh"),
        "damage": Key(_DAMAGE, "change a file in the slot-save folder"),
        "at": Key(OneOf(tuple(On)), "the engine it is done to: the build under test unless said"),
        **{name: Key(shape, MEANS[name]) for name, shape in ENGINE_ACTS.items()},
    },
)

STEPS: Shape[tuple[Step, ...]] = ListOf(_STEP, least=1)


def named(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Steps without a name are called by their number."""
    return tuple(replace(each, name=each.name or str(number)) for number, each in enumerate(steps, 1))


def problems(steps: Sequence[Step]) -> Iterator[str]:
    """What is wrong with how steps refer to each other."""
    earlier: dict[str, Step] = {}
    for step in steps:
        if step.name in earlier:
            yield f"two steps are called {step.name!r}"
        for name in _named_by(step):
            if not isinstance(getattr(earlier.get(name), "act", None), Complete | Prefill | Decode):
                yield f"step {step.name}: no earlier step that has a prompt is called {name!r}"
        for name in _state_named_by(step):
            if not isinstance(getattr(earlier.get(name), "act", None), Prefill | Get):
                yield f"step {step.name}: no earlier step that leaves state is called {name!r}"
        earlier[step.name] = step


def _named_by(step: Step) -> Iterator[str]:
    if step.once:
        yield step.once
    if isinstance(step.act, Complete | Prefill | Decode):
        yield from (part.step for part in step.act.prompt if isinstance(part, EarlierPart))


def _state_named_by(step: Step) -> Iterator[str]:
    if isinstance(step.act, Put | Decode) and step.act.state_of:
        yield step.act.state_of


def done_to_engines(steps: Sequence[Step]) -> bool:
    """Whether any of the steps needs an engine's RPC port."""
    return any(isinstance(step.act, EngineAct) for step in steps)


def files_made(steps: Sequence[Step]) -> frozenset[str]:
    """Names of the files that the steps themselves ask for: they are not what a build leaves behind."""
    return frozenset(
        step.act.file
        for step in steps
        if isinstance(step.act, Damage) or (isinstance(step.act, SlotAction) and step.act.action is Action.SAVE)
    )
