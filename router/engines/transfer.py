"""State from one engine to another: inspected on its way, passed on chunk by chunk, never kept.

Nothing is sent before the blob's head was read and found to be that of this prompt; the last chunk is sent only when
every check has passed. So a flaw that shows late leaves the receiver with a payload that is not whole, which no
engine restores.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace

from router.engines.rpc import Connection, Session
from router.engines.source import Source
from router.routes.choose import Outcome, Step, failed
from wire.blob import FLAG_CHECKPOINT, CheckpointHead
from wire.blob_reader import BlobEvent, BlobHead, BlobLimits, BlobReader
from wire.errors import RemoteWireError
from wire.hashes import RunningHash
from wire.hydra import Op, ResponseHead


@dataclass(frozen=True, slots=True)
class Known:
    """What the blob says of itself."""

    n_tok: int
    reach: int
    """Tokens behind which the receiver has to evaluate; fewer than `n_tok` where recurrent memory stands earlier."""


class Inspection:
    """A blob that is read along while it passes."""

    def __init__(self, source: Source, limits: BlobLimits) -> None:
        self._source = source
        self.total = source.total
        self._ended = False
        self._held: list[bytes] = []
        self._hash = RunningHash()
        self._head: BlobHead | None = None
        self._checkpoint: CheckpointHead | None = None
        try:
            self._reader = BlobReader(source.total, replace(limits, from_prefill=source.from_prefill))
        except RemoteWireError as error:
            raise failed(Step.STATE, Outcome.MALFORMED, reason=str(error)) from None

    async def head(self, tokens: tuple[int, ...]) -> Known:
        """Reads until the blob has said whose state it is; it must be that of `tokens`."""
        while not self._known:
            self._held.append(await self._next())
        assert self._head is not None
        found = self._head.tokens
        if found[: len(tokens)] != tokens:
            common = next((i for i, (a, b) in enumerate(zip(found, tokens, strict=False)) if a != b), len(found))
            raise failed(Step.STATE, Outcome.OTHER_PROMPT, common=min(common, len(found)), asked=len(tokens))
        return Known(len(found), self._reach(len(tokens)))

    async def chunks(self) -> AsyncIterator[bytes]:
        """Everything from the first byte on. The last chunk comes when the whole blob was found to be good."""
        while self._held or not self._ended:
            if len(self._held) > 1 or (self._held and self._ended):
                yield self._held.pop(0)
            elif chunk := await self._next():
                self._held.append(chunk)
            else:
                self._close()
                self._ended = True

    @property
    def _known(self) -> bool:
        if self._head is None:
            return False
        return self._checkpoint is not None or not self._head.flags & FLAG_CHECKPOINT

    def _reach(self, n_tokens: int) -> int:
        if self._checkpoint is None or not self._checkpoint.recurrent_only:
            return n_tokens
        return min(n_tokens, max(1, self._checkpoint.pos_max))

    async def _next(self) -> bytes:
        chunk = await self._source.chunk()
        self._hash.update(chunk)
        try:
            for event in self._reader.receive(chunk):
                self._note(event)
            if not chunk and not self._known:
                self._reader.close()
        except RemoteWireError as error:
            raise failed(Step.STATE, Outcome.MALFORMED, reason=str(error)) from None
        return chunk

    def _note(self, event: BlobEvent) -> None:
        if isinstance(event, BlobHead):
            self._head = event
        elif isinstance(event, CheckpointHead):
            self._checkpoint = event

    def _close(self) -> None:
        """The bytes as a whole: all there, and those that were announced."""
        try:
            self._reader.close()
        except RemoteWireError as error:
            raise failed(Step.STATE, Outcome.MALFORMED, reason=str(error)) from None
        announced = self._source.kv_hash
        if announced is not None and self._hash.value != announced:
            reason = f"it hashes to {self._hash.value:016x}, not to {announced:016x}"
            raise failed(Step.STATE, Outcome.MALFORMED, reason=reason)


@dataclass(frozen=True, slots=True)
class Delivered:
    """The receiver's answer. `whole` false: it came before the receiver had everything."""

    connection: Connection
    head: ResponseHead
    whole: bool
    n_bytes: int


async def deliver(
    session: Session, op: Op, slot: int, prefix: bytes, state: Inspection, seconds: float, silence_s: float
) -> Delivered:
    """`prefix` and then the state as one payload. CutOff, NoAnswer: of the receiver; StepFailed: of the source."""
    connection = await session.begin(op, slot, len(prefix) + state.total, seconds)
    if prefix:
        await connection.send(prefix, silence_s)
    n_bytes = 0
    async for chunk in state.chunks():
        if connection.answered:
            break
        await connection.send(chunk, silence_s)
        n_bytes += len(chunk)
    head = await connection.head(seconds)
    return Delivered(connection, head, n_bytes == state.total, n_bytes)
