"""One completion on one slot: its prompt evaluated on top of what the slot holds, then token after token.

All rows that are reused are read back from memory first, whoever wrote them. Knows nothing of requests, replies or
waiting: it goes on when it is told to.
"""

from __future__ import annotations

from array import array
from enum import Enum

from fakes.model import ToyModel
from fakes.slots import Slot, common_prefix
from fakes.store import RowStore
from fakes.tokenizer import EOS_ID


class Stop(Enum):
    """Why a generation ended, in llama-server's words."""

    NONE = "none"
    EOS = "eos"
    LIMIT = "limit"
    WORD = "word"


class Generation:
    """`cached` prompt tokens are reused, `evaluated` have been evaluated, `predicted` are out."""

    def __init__(
        self, model: ToyModel, store: RowStore, slot: Slot, prompt: array[int], *, reuse: bool, ignore_eos: bool
    ) -> None:
        self._model = model
        self._store = store
        self._slot = slot
        self._prompt = prompt
        self._ignore_eos = ignore_eos
        common = common_prefix(slot.tokens, prompt) if reuse else 0
        self.whole_prompt_held = common == len(prompt)
        self.cached = min(common, len(prompt) - 1)
        self.evaluated = 0
        self.predicted: list[int] = []
        slot.keep(self.cached)
        first = slot.first_cell
        self._sums = model.sums(store.read(first, self.cached))
        self._last = store.cell(first + self.cached - 1) if self.cached else b""

    @property
    def prompt_left(self) -> int:
        """Prompt tokens that are still to be evaluated."""
        return len(self._prompt) - self.cached - self.evaluated

    def evaluate(self, n_tokens: int) -> None:
        """Evaluate the next `n_tokens` of the prompt. They stay in the slot, whatever happens next."""
        start = self.cached + self.evaluated
        self._feed(self._prompt[start : start + n_tokens])
        self.evaluated += n_tokens

    def next(self) -> int:
        """The next token. The one before it is fed first; the last one of a reply never is."""
        if self.predicted:
            self._feed(array("i", self.predicted[-1:]))
        token = self._model.next_token(self._sums, ignore_eos=self._ignore_eos)
        self.predicted.append(token)
        return token

    def stop(self, n_predict: int) -> tuple[Stop, bool]:
        """Whether the last token ends the reply, and whether that is because the slot is full."""
        if self.predicted[-1] == EOS_ID:
            return Stop.EOS, False
        if 0 <= n_predict <= len(self.predicted):
            return Stop.LIMIT, False
        if len(self._slot.tokens) + 1 >= self._slot.n_ctx:
            return Stop.LIMIT, True
        return Stop.NONE, False

    def _feed(self, tokens: array[int]) -> None:
        cells = self._model.cells(tokens, self._last)
        rows = self._model.rows(cells)
        self._store.write(self._slot.first_cell + len(self._slot.tokens), rows)
        self._sums = self._model.sums(rows, self._sums)
        self._last = cells[-1]
        self._slot.tokens.extend(tokens)
