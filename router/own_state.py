"""What kind of state file a decoder writes, learnt once from one that it was asked for.

A server tells neither the type of its KV cache nor the version of its state files. What it saves does, and what it
saves it also reads.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from wire.state_layout import StateKind


class OwnState:
    """Of one decoder, as long as it is in service."""

    def __init__(self) -> None:
        self.kind: StateKind | None = None
        self._turn = asyncio.Lock()

    async def learn(self, ask: Callable[[], Awaitable[StateKind]]) -> StateKind:
        """The kind. Who comes first asks for it, the others wait; if that fails, or is given up, the next one asks."""
        if self.kind is not None:
            return self.kind
        async with self._turn:
            if self.kind is None:
                self.kind = await ask()
            return self.kind
