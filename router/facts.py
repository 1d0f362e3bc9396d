"""What a llama-server says of itself: read when it comes up, and again to see that it is still the same one."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import Any

from router.decoder_client import Answer, DecoderClient
from router.errors import DecoderError
from router.model_file import mark_of
from router.one_line import one_line

CALL_S = 5.0
SHAPE = ("vocab_type", "n_vocab", "n_embd", "n_params", "size", "ftype")
NOT_SUPPORTED = 501


@dataclass(frozen=True, slots=True)
class Facts:
    """What a decoder said of itself."""

    n_slots: int
    n_ctx: int | None
    """Of one slot."""
    model: str | None
    build: str | None
    start_mark: str | None
    """Differs from start to start, where the decoder says such a thing."""
    serves_actions: bool = True
    shape: tuple[tuple[str, object], ...] = ()
    """What is told of the model itself: sizes, vocabulary, quantisation."""
    weights: str | None = None
    """The mark of the model's file, where it can be read from here."""

    @property
    def n_streams(self) -> int:
        """As a server that was started with an explicit number of slots lays its cache out."""
        return self.n_slots

    def difference(self, other: Facts) -> str | None:
        """Why a state file of one does not fit the other, as far as they say; None where nothing speaks against it.

        Builds tell some things as values of different types, which then say nothing.
        """
        if self.n_slots != other.n_slots:
            return f"{self.n_slots} slots and {other.n_slots}"
        theirs = dict(other.shape)
        for name, mine in self.shape:
            if type(theirs.get(name)) is type(mine) and theirs[name] != mine:
                return f"the models differ in {name}: {mine} and {theirs[name]}"
        if self.weights is not None and other.weights is not None and self.weights != other.weights:
            return f"the models differ in their weights: {self.model} and {other.model}"
        return None

    def remark(self, other: Facts) -> str | None:
        """What makes it doubtful whether a state file of one fits the other, though nothing speaks against it."""
        if self.build is None or other.build is None or self.build == other.build:
            return None
        return f"build {self.build} saves and build {other.build} restores: not every build reads another's state files"

    def change(self, now: Facts) -> str | None:
        """Why what fitted this server need not fit what it is `now`."""
        if self.model != now.model:
            return f"it serves {now.model} and no longer {self.model}"
        return self.difference(now)

    def is_still(self, now: Facts) -> bool:
        """Whether the same process, as far as it says, answered again with nothing but its properties."""
        return replace(now, serves_actions=self.serves_actions, shape=self.shape, weights=self.weights) == self


async def read_facts(client: DecoderClient) -> Facts | str:
    """The facts of a server that is ready for work; else why it is not, in words."""
    try:
        health = await client.health(CALL_S)
        if not health.ok:
            return f"/health answers {health.status}: {one_line(health.body)}"
        facts = await read_properties(client)
        if isinstance(facts, str):
            return facts
        # No file is called so: nothing is saved, and a server that knows the action says so in its own words.
        models, actions = await client.models(CALL_S), await client.save(0, "/", CALL_S)
        # `/slots` goes through the queue of tasks, as all work does; `/health` does not.
        await client.slots(CALL_S)
    except DecoderError as error:
        return str(error)
    weights = await asyncio.to_thread(mark_of, facts.model, client.url)
    shape = _shape(models.json_object() or {})
    return replace(facts, serves_actions=_serves_actions(actions), shape=shape, weights=weights)


def _serves_actions(save: Answer) -> bool:
    """A server without a folder for slot files answers 501, one that forwards to several models knows no action."""
    return save.status != NOT_SUPPORTED and b"invalid action" not in save.body.lower()


async def read_properties(client: DecoderClient) -> Facts | str:
    """What `/props` alone tells."""
    try:
        return _facts(await client.props(CALL_S))
    except DecoderError as error:
        return str(error)


async def what_fails(client: DecoderClient) -> str:
    """What keeps the path that does the work from answering; empty where it answers."""
    try:
        await client.slots(CALL_S)
    except DecoderError as error:
        return f"/slots: {error}"
    return ""


def _facts(props: Answer) -> Facts | str:
    value: dict[str, Any] | None = props.json_object() if props.ok else None
    if value is None:
        return f"/props answers {props.status}: {one_line(props.body)}"
    n_slots, settings = value.get("total_slots"), value.get("default_generation_settings")
    if type(n_slots) is not int or n_slots < 1:
        return f"/props tells no slot count but {n_slots!r:.40}"
    n_ctx = settings.get("n_ctx") if isinstance(settings, dict) else None
    return Facts(
        n_slots=n_slots,
        n_ctx=n_ctx if type(n_ctx) is int and n_ctx > 0 else None,
        model=_maybe_text(value.get("model_path")),
        build=_maybe_text(value.get("build_info")),
        start_mark=_maybe_text(value.get("media_marker")),
    )


def _shape(models: dict[str, Any]) -> tuple[tuple[str, object], ...]:
    entries = models.get("data")
    first = entries[0] if isinstance(entries, list) and entries else None
    meta = first.get("meta") if isinstance(first, dict) else None
    if not isinstance(meta, dict):
        return ()
    return tuple((name, meta[name]) for name in SHAPE if meta.get(name) is not None)


def _maybe_text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
