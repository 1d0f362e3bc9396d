"""One completion on one slot: its prompt evaluated on top of what the slot holds, then token after token.

All rows that are reused are read back from memory first, whoever wrote them. Knows nothing of requests, replies or
waiting: it goes on when it is told to.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import partial

from fakes.model import ToyModel
from fakes.sampling import Sampler
from fakes.slots import Slot, common_prefix
from fakes.store import RowStore
from fakes.tokenizer import EOS_ID


class Stop(Enum):
    """Why a generation ended, in llama-server's words."""

    NONE = "none"
    EOS = "eos"
    LIMIT = "limit"
    WORD = "word"


@dataclass(frozen=True, slots=True)
class Shift:
    """What becomes of a slot that is full while tokens are still wanted: so many of its first tokens are kept and the
    `discard` after them dropped, half of the rest where that is 0. `told` gets n_keep, n_left and n_discard.
    """

    keep: int
    discard: int
    told: Callable[[int, int, int], None]


class Generation:
    """`cached` prompt tokens are reused, `evaluated` are evaluated, `predicted` are out; `stop` says why it ended."""

    def __init__(
        self,
        model: ToyModel,
        store: RowStore,
        slot: Slot,
        prompt: array[int],
        *,
        reuse: bool,
        ignore_eos: bool,
        sampler: Sampler | None = None,
    ) -> None:
        self._model = model
        self._store = store
        self._slot = slot
        self._prompt = prompt
        self._next = sampler.next_token if sampler is not None else partial(model.next_token, ignore_eos=ignore_eos)
        common = common_prefix(slot.tokens, prompt) if reuse else 0
        self.whole_prompt_held = common == len(prompt)
        self.cached = min(common, len(prompt) - 1)
        self.evaluated = 0
        self.predicted: list[int] = []
        self.stop = Stop.NONE
        self.truncated = False
        """Whether the reply ended because the slot is full."""
        self.overrun = 0
        """So many tokens come behind the limit."""
        self.shift: Shift | None = None
        """None: a full slot ends the reply."""
        self._discarded = 0
        slot.keep(self.cached)
        first = slot.first_cell
        self._sums = model.sums(store.read(first, self.cached))
        self._last = store.cell(first + self.cached - 1) if self.cached else b""

    def spare_last(self) -> None:
        """Where all of the prompt is held, evaluate nothing: the first token comes of the rows before the last."""
        if self.whole_prompt_held:
            self.cached = len(self._prompt)

    @property
    def prompt_left(self) -> int:
        """Prompt tokens that are still to be evaluated."""
        return len(self._prompt) - self.cached - self.evaluated

    def evaluate(self, n_tokens: int) -> None:
        """Evaluate the next `n_tokens` of the prompt. They stay in the slot, whatever happens next."""
        start = self.cached + self.evaluated
        self._feed(self._prompt[start : start + n_tokens])
        self.evaluated += n_tokens

    def take(self, n_tokens: int, n_predict: int) -> list[int]:
        """The next tokens, up to `n_tokens` of them, fewer when the reply ends. `n_predict` is -1 for no limit.

        The token before is fed first; the last one of a reply never is.
        """
        start = len(self.predicted)
        room = self._slot.n_ctx - len(self._prompt) - start + self._discarded
        if self.shift is not None and room <= 0:
            room = self._make_room(self.shift)
        wanted = self._wanted(n_predict, room) - start
        self._predict(min(n_tokens, wanted, room))
        n_new = len(self.predicted) - start
        if self.shift is not None:
            self._check_end(wanted - n_new, full=False)
        else:
            self._check_end(min(wanted, room) - n_new, full=room < wanted or n_predict < 0)
        return self.predicted[start:]

    def _wanted(self, n_predict: int, room: int) -> int:
        """How many tokens the whole reply may have."""
        if n_predict >= 0:
            return max(1, n_predict) + self.overrun
        return len(self.predicted) + (room if self.shift is None else room + 1)

    def _predict(self, n_tokens: int) -> None:
        model, choose = self._model, self._next
        fed: list[bytes] = []
        for _ in range(n_tokens):
            if self.predicted:
                self._last, self._sums = model.follow(self.predicted[-1], self._last, self._sums)
                fed.append(self._last)
            self.predicted.append(choose(self._sums))
            if self.predicted[-1] == EOS_ID:
                break
        self._keep(fed)

    def _make_room(self, shift: Shift) -> int:
        """Drop tokens and their rows; those behind them move up, as they are. So many more fit now."""
        slot, store, held = self._slot, self._store, len(self._slot.tokens)
        keep = min(shift.keep, slot.n_ctx - 4)
        n_left = held - keep
        discard = min(n_left, shift.discard) if shift.discard > 0 else n_left // 2
        shift.told(keep, n_left, discard)
        behind = keep + discard
        moved = [bytes(part) for part in store.read(slot.first_cell + behind, held - behind)]
        store.write(slot.first_cell + keep, moved)
        del slot.tokens[keep:behind]
        self._sums = self._model.sums(store.read(slot.first_cell, len(slot.tokens)))
        self._discarded += discard
        self.truncated = True
        return discard

    def _keep(self, fed: list[bytes]) -> None:
        if fed:
            self._store.write(self._slot.first_cell + len(self._slot.tokens), self._model.rows(fed))
            end = len(self.predicted) - 1
            self._slot.tokens.extend(self.predicted[end - len(fed) : end])

    def _check_end(self, left: int, *, full: bool) -> None:
        if self.predicted[-1] == EOS_ID:
            self.stop = Stop.EOS
        elif left <= 0:
            self.stop = Stop.LIMIT
            self.truncated = self.truncated or full

    def _feed(self, tokens: array[int]) -> None:
        cells = self._model.cells(tokens, self._last)
        rows = self._model.rows(cells)
        self._store.write(self._slot.first_cell + len(self._slot.tokens), rows)
        self._sums = self._model.sums(rows, self._sums)
        self._last = cells[-1]
        self._slot.tokens.extend(tokens)
