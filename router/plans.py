"""What is to be done with a request before anything is done: hand its prompt over, or serve it plain and say why."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from router.config import Config
from router.decoders import Decoder
from router.errors import Refusal
from router.exchange import Exchange
from router.prompt_tokens import tokens_of
from router.request_body import WHY_TEXT, ClientRequest, Endpoint, Why, surely_shorter, text_of, why_not
from router.routes.choose import TAILS, Next
from router.slots import Prompt, Slot, Where

if TYPE_CHECKING:
    from router.engines.results import Stored


@dataclass(frozen=True, slots=True)
class HandOver:
    """The prompt's tokens, and those of them that are handed over."""

    tokens: tuple[int, ...]
    handed: tuple[int, ...]
    prompt: Prompt


@dataclass(frozen=True, slots=True)
class Handed:
    """The rows are in the slot, as far as anybody said."""

    prompt: Prompt
    n_prompt: int
    n_handed: int
    stored: Stored | None = None
    """The reply, where it has begun with the handoff."""


@dataclass(frozen=True, slots=True)
class Plain:
    """The decoder prefills the prompt itself. `fell_back`: after a handoff that failed.

    `n_warm`: so many tokens of it the slot is believed to hold; `n_paid`: so many were prefilled once already, in vain.
    """

    reason: str
    prompt: Prompt | None
    fell_back: bool = False
    n_prompt: int | None = None
    n_warm: int = 0
    n_paid: int = 0


class Planner:
    """Makes plans. It asks a decoder for tokens and changes nothing anywhere."""

    def __init__(self, config: Config, *, has_provider: bool, chats_only: bool = False) -> None:
        self._config = config
        self._has_provider = has_provider
        self._chats_only = chats_only

    def text(self, request: ClientRequest) -> Prompt:
        return Prompt.of_text(text_of(request))

    async def plan(self, request: ClientRequest, exchange: Exchange, decoders: list[Decoder]) -> HandOver | Plain:
        """StepFailed: the tokens could not be had. Refusal: the prompt fits into no decoder, or --strict."""
        if not self._has_provider:
            return Plain(Why.NO_PROVIDER, self.text(request))
        why = why_not(request)
        if why is None and self._chats_only and request.endpoint is not Endpoint.CHAT:
            why = Why.NOT_A_CHAT
        if why is None and surely_shorter(request, self._config.min_prefill_tokens):
            why = Why.SHORT_PROMPT
        if why is not None:
            return self._plain(why, exchange, self.text(request))
        tokens = await tokens_of(request, decoders[0].client, exchange.deadline, self._config.timeouts)
        exchange.n_prompt = len(tokens)
        check_fits(len(tokens), decoders)
        prompt = Prompt.of_tokens(tokens)
        handed = tokens[: len(tokens) - self._config.hold_back]
        if len(tokens) < self._config.min_prefill_tokens or not handed:
            return self._plain(Why.SHORT_PROMPT, exchange, prompt, len(tokens))
        return HandOver(tokens, handed, prompt)

    def here(self, plan: HandOver, exchange: Exchange, slot: Slot, decoder: Decoder) -> HandOver | Plain:
        """The same plan, unless the slot that was leased makes the handoff needless or impossible."""
        if decoder.facts is not None and not decoder.takes_handoffs:
            return self._plain(Why.NO_ROUTE, exchange, plan.prompt, len(plan.tokens))
        if self._config.prefill_url is not None and decoder.change is not None:
            return self._plain(Why.OTHER_MODEL, exchange, plan.prompt, len(plan.tokens))
        # What a decoder that may have ended since was given is not counted on.
        n_warm = 0 if decoder.suspected.is_set() else plan.prompt.common(slot.holds)
        if len(plan.tokens) - n_warm < self._config.min_prefill_tokens and not self._config.strict:
            return replace(self._plain(Why.WARM_PREFIX, exchange, plan.prompt, len(plan.tokens)), n_warm=n_warm)
        return plan

    def _plain(self, why: Why, exchange: Exchange, prompt: Prompt, n_prompt: int | None = None) -> Plain:
        """Says why, since a prompt that a decoder prefills itself is what this router is there to prevent."""
        exchange.reason = why
        if self._config.strict:
            exchange.log.hybrid(f"not handed over: {WHY_TEXT[why]}; {TAILS[Next.REFUSE]}")
            raise Refusal(
                400, "invalid_request_error", f"this prompt cannot be handed over: {WHY_TEXT[why]} (--strict)"
            )
        tail = "" if why is Why.WARM_PREFIX else f"; {TAILS[Next.PLAIN]}"
        exchange.log.hybrid(f"not handed over: {WHY_TEXT[why]}{tail}")
        return Plain(why, prompt, n_prompt=n_prompt)


def where(plan: HandOver | Plain | Handed, decoders: list[Decoder]) -> Where:
    """The decoders that the plan can be carried out on, as long as there is one. A handoff waits for one that takes
    it; where none does, any may serve the request plain. None: all, also those that come into service later."""
    takes_handoffs = isinstance(plan, HandOver)
    n_prompt = len(plan.tokens) if isinstance(plan, HandOver) else plan.n_prompt
    fitting = [each for each in decoders if _has_room(each, n_prompt)]
    if takes_handoffs:
        takers = [each for each in fitting if each.takes_handoffs]
        fitting = takers or fitting
    return None if len(fitting) in (0, len(decoders)) else frozenset(each.index for each in fitting)


def _has_room(decoder: Decoder, n_prompt: int | None) -> bool:
    n_ctx = decoder.facts.n_ctx if decoder.facts is not None else None
    return n_prompt is None or n_ctx is None or n_prompt < n_ctx


def check_fits(n_prompt: int, decoders: list[Decoder]) -> None:
    """Refusal 400, as a decoder would answer, but before any prefill is paid: no decoder has room for the prompt."""
    sizes = [decoder.facts.n_ctx if decoder.facts is not None else None for decoder in decoders]
    known = [size for size in sizes if size is not None]
    if known and len(known) == len(sizes) and n_prompt >= max(known):
        raise Refusal(
            400,
            "exceed_context_size_error",
            f"request ({n_prompt} tokens) exceeds the available context size ({max(known)} tokens), try increasing it",
        )
