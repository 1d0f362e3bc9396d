"""The tokens of a request's prompt, as the decoder itself counts them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from router.config import Timeouts
from router.deadline import Deadline
from router.decoder_client import Answer, DecoderClient
from router.errors import CutOff, NoAnswer, Unreachable
from router.request_body import ClientRequest, Endpoint
from router.routes.choose import Outcome, Step, failed
from router.routes.handoff import refused


async def tokens_of(
    request: ClientRequest, decoder: DecoderClient, deadline: Deadline, timeouts: Timeouts
) -> tuple[int, ...]:
    """StepFailed: the decoder did not tell."""
    prompt = request.prompt
    if request.endpoint is Endpoint.CHAT:
        prompt = await _rendered(request, decoder, deadline, timeouts)
    elif isinstance(prompt, list) and all(type(item) is int for item in prompt):
        return tuple(prompt)
    answer = await _call(Step.TOKENIZE, lambda s: decoder.tokenize(prompt, s), deadline, timeouts)
    tokens = (answer.json_object() or {}).get("tokens")
    if not isinstance(tokens, list) or not all(type(token) is int for token in tokens):
        raise refused(Step.TOKENIZE, answer)
    return tuple(tokens)


async def _rendered(request: ClientRequest, decoder: DecoderClient, deadline: Deadline, timeouts: Timeouts) -> str:
    """The chat as one prompt: the client's whole body goes through the decoder's template."""
    answer = await _call(Step.TEMPLATE, lambda s: decoder.apply_template(request.raw, s), deadline, timeouts)
    prompt = (answer.json_object() or {}).get("prompt")
    if not isinstance(prompt, str):
        raise refused(Step.TEMPLATE, answer)
    return prompt


async def _call(
    step: Step, call: Callable[[float], Awaitable[Answer]], deadline: Deadline, timeouts: Timeouts
) -> Answer:
    """A call that changes nothing, so that one cut off is simply made again, once."""
    seconds = deadline.cut(timeouts.share)
    try:
        try:
            answer = await call(seconds)
        except CutOff:
            answer = await call(seconds)
    except Unreachable as error:
        raise failed(step, Outcome.UNREACHABLE, reason=str(error)) from None
    except NoAnswer:
        raise failed(step, Outcome.TIMED_OUT, seconds=seconds) from None
    except CutOff as error:
        raise failed(step, Outcome.CUT_OFF, reason=str(error)) from None
    if not answer.ok:
        raise refused(step, answer)
    return answer
