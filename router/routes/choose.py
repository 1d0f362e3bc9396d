"""The decision table: what fails, what is done next, and the line that says so. It stands here and nowhere else.

Every failure of a handoff is `failed(step, outcome, ...)`; a pair without a row cannot be raised. A row's words
end in a tail that names what is done instead, so that no line can promise another route than the one taken. The
docs page is generated from this table, and a test holds its pairs against those that the routes can raise.

Knows nothing of sockets, slots or processes.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Step(StrEnum):
    """A step of a handoff, in the order in which they come."""

    TEMPLATE = "template"
    TOKENIZE = "tokenize"
    LISTEN = "listen"
    SHARE = "share"
    DESCRIPTORS = "descriptors"
    STATE_FILE = "state-file"
    OWN_STATE = "own-state"
    PROVIDER = "provider"
    CLAIM = "claim"
    INSPECT = "inspect"
    ADOPT = "adopt"
    RESTORE = "restore"
    ERASE = "erase"
    PREFILL = "prefill"
    PREFILL_HTTP = "prefill-http"
    STATE = "state"
    IDENTITY = "identity"
    STATE_PUT = "state-put"
    DECODE = "decode"
    RESULT = "result"
    REPLY = "reply"


class Outcome(StrEnum):
    """How a step failed."""

    FAILED = "failed"
    REFUSED = "refused"
    NOT_SUPPORTED = "not-supported"
    MALFORMED = "malformed"
    NO_SHARE_ID = "no-share-id"
    TIMED_OUT = "timed-out"
    CUT_OFF = "cut-off"
    UNREACHABLE = "unreachable"
    EXITED = "exited"
    KILLED = "killed"
    CANNOT_SHARE = "cannot-share"
    SHORT_REGION = "short-region"
    SHORT_FILE = "short-file"
    ABSURD = "absurd"
    NO_SLOT = "no-slot"
    NO_CONNECTION = "no-connection"
    """To an engine's RPC port, which says nothing about the decoder beside it."""
    BUSY = "busy"
    EMPTY = "empty"
    OTHER_PROMPT = "other-prompt"
    OTHER_MODEL = "other-model"
    OTHER_LAYOUT = "other-layout"
    CORRUPT = "corrupt"
    GONE = "gone"
    LOST = "lost"
    PARTIAL = "partial"
    MISCOUNTED = "miscounted"
    COLD = "cold"


class Next(StrEnum):
    """What is done instead."""

    STATE_FILE = "state-file"
    """The state-file route, for this request; plain where none is configured."""
    PLAIN = "plain"
    PLAIN_UNCACHED = "plain, cache_prompt false"
    UNAVAILABLE = "503"
    """No second route to a dead decoder."""
    PREFILL_HTTP = "prefill over HTTP"
    """The same engine and slot."""
    AGAIN = "the state again"
    """From the slot that prefilled it, once; then plain."""
    STATE_PUT = "state-put"
    OTHER_SLOT = "plain, another slot"
    REPLY = "the reply goes out"
    REFUSE = "refused (--strict)"


@dataclass(frozen=True, slots=True)
class Row:
    """`words` is a `str.format` template; the tail for `next` is put behind it."""

    next: Next
    words: str


CANNOT_SHARE_TAIL = "this decoder cannot share its KV, so the state-file route is used"
TAILS = {
    Next.STATE_FILE: CANNOT_SHARE_TAIL,
    Next.PLAIN: "the backend prefills this request itself",
    Next.PLAIN_UNCACHED: "the backend prefills this request itself, without its cache",
    Next.UNAVAILABLE: "the request is answered 503",
    Next.PREFILL_HTTP: "the engine is asked to prefill over HTTP",
    Next.AGAIN: "the state is asked for once more",
    Next.STATE_PUT: "the state is sent by STATE_PUT",
    Next.OTHER_SLOT: "another slot is used",
    Next.REPLY: "",
    Next.REFUSE: "the request is refused",
}

_NO_ANSWER = "{step} did not answer within {seconds:g} s"
_CUT_OFF = "{step} was cut off: {reason}"
_UNREACHABLE = "{step} could not reach the decoder: {reason}"
_NO_CONNECTION = "{step} got no connection: {reason}"
_NO_OWN_STATE = "the decoder's own state file could not be looked at"
_ANSWERED = "{step} answered {status}: {body}"


def _call_rows(step: Step, next_: Next) -> dict[tuple[Step, Outcome], Row]:
    """The rows that every call to a decoder has."""
    return {
        (step, Outcome.REFUSED): Row(next_, _ANSWERED),
        (step, Outcome.TIMED_OUT): Row(next_, _NO_ANSWER),
        (step, Outcome.CUT_OFF): Row(next_, _CUT_OFF),
        (step, Outcome.UNREACHABLE): Row(Next.UNAVAILABLE, _UNREACHABLE),
    }


def _carrier_rows(step: Step, malformed: Next) -> dict[tuple[Step, Outcome], Row]:
    """The rows of both ways in which state is put into an engine's slot."""
    return {
        (step, Outcome.NO_CONNECTION): Row(Next.PLAIN, _NO_CONNECTION),
        (step, Outcome.REFUSED): Row(Next.PLAIN, _ANSWERED),
        (step, Outcome.MALFORMED): Row(malformed, "{step} answered OK without sense: {reason}"),
        (step, Outcome.CUT_OFF): Row(Next.PLAIN, _CUT_OFF),
        (step, Outcome.TIMED_OUT): Row(Next.PLAIN, "{step} {reason}"),
    }


TABLE: dict[tuple[Step, Outcome], Row] = {
    **_call_rows(Step.TEMPLATE, Next.PLAIN),
    **_call_rows(Step.TOKENIZE, Next.PLAIN),
    (Step.LISTEN, Outcome.FAILED): Row(Next.STATE_FILE, "no socket for the decoder: {reason}"),
    **_call_rows(Step.SHARE, Next.STATE_FILE),
    (Step.SHARE, Outcome.NOT_SUPPORTED): Row(Next.PLAIN, _ANSWERED),
    (Step.SHARE, Outcome.MALFORMED): Row(Next.STATE_FILE, "share answered {status} with no JSON object: {body}"),
    (Step.SHARE, Outcome.NO_SHARE_ID): Row(Next.STATE_FILE, "share answered {status} without a share_id: {body}"),
    (Step.DESCRIPTORS, Outcome.TIMED_OUT): Row(
        Next.STATE_FILE, "no descriptors came within {seconds:g} s of the share's answer"
    ),
    (Step.DESCRIPTORS, Outcome.MALFORMED): Row(Next.STATE_FILE, "the shared region is malformed: {reason}"),
    (Step.STATE_FILE, Outcome.FAILED): Row(Next.PLAIN, "no state file could be made: {reason}"),
    (Step.OWN_STATE, Outcome.REFUSED): Row(Next.PLAIN, f"{_NO_OWN_STATE}: {{call}} answered {{status}}: {{body}}"),
    (Step.OWN_STATE, Outcome.TIMED_OUT): Row(Next.PLAIN, f"{_NO_OWN_STATE}: no answer within {{seconds:g}} s"),
    (Step.OWN_STATE, Outcome.CUT_OFF): Row(Next.PLAIN, f"{_NO_OWN_STATE}: {{reason}}"),
    (Step.OWN_STATE, Outcome.MALFORMED): Row(Next.PLAIN, f"{_NO_OWN_STATE}: {{reason}}"),
    (Step.OWN_STATE, Outcome.UNREACHABLE): Row(Next.UNAVAILABLE, f"{_NO_OWN_STATE}, it cannot be reached: {{reason}}"),
    (Step.PROVIDER, Outcome.FAILED): Row(Next.PLAIN, "provider could not start: {reason}"),
    (Step.PROVIDER, Outcome.EXITED): Row(Next.PLAIN, "provider exited {status}"),
    (Step.PROVIDER, Outcome.KILLED): Row(Next.PLAIN, "provider was killed by {signal}"),
    (Step.PROVIDER, Outcome.REFUSED): Row(Next.PLAIN, "prefill server answered {call} with {status}: {body}"),
    (Step.PROVIDER, Outcome.CUT_OFF): Row(Next.PLAIN, "prefill server failed: {reason}"),
    (Step.PROVIDER, Outcome.OTHER_MODEL): Row(Next.PLAIN, "the prefill server has changed: {reason}"),
    (Step.PROVIDER, Outcome.UNREACHABLE): Row(
        Next.UNAVAILABLE, "the decoder went out of service before its rows were there: {reason}"
    ),
    (Step.PROVIDER, Outcome.TIMED_OUT): Row(Next.PLAIN, "provider did not end within {seconds:g} s"),
    (Step.PROVIDER, Outcome.CANNOT_SHARE): Row(
        Next.STATE_FILE, "share answered {status}, but a prefill server cannot write into a region"
    ),
    (Step.CLAIM, Outcome.SHORT_REGION): Row(
        Next.PLAIN, "provider prefilled {claimed} of {asked} tokens into the shared region"
    ),
    (Step.CLAIM, Outcome.SHORT_FILE): Row(Next.PLAIN, "provider prefilled {claimed} of {asked} tokens"),
    (Step.CLAIM, Outcome.ABSURD): Row(Next.PLAIN, "provider claimed n_tokens {claimed} for {asked} tokens"),
    (Step.INSPECT, Outcome.FAILED): Row(Next.PLAIN, "the state file cannot be read: {reason}"),
    (Step.INSPECT, Outcome.MALFORMED): Row(Next.PLAIN, "the state file is malformed: {reason}"),
    (Step.INSPECT, Outcome.CORRUPT): Row(Next.PLAIN, "the state file is not as it was written: {reason}"),
    (Step.INSPECT, Outcome.OTHER_PROMPT): Row(Next.PLAIN, "the state file holds another prompt: {reason}"),
    (Step.INSPECT, Outcome.OTHER_LAYOUT): Row(Next.PLAIN, "the state file does not fit this decoder: {reason}"),
    **_call_rows(Step.ADOPT, Next.PLAIN),
    **_call_rows(Step.RESTORE, Next.PLAIN),
    **_call_rows(Step.ERASE, Next.PLAIN_UNCACHED),
    (Step.ERASE, Outcome.BUSY): Row(Next.OTHER_SLOT, "slot {slot} is not free: {reason}"),
    (Step.PREFILL, Outcome.NO_SLOT): Row(Next.PLAIN, "no slot to prefill in became free within {seconds:g} s"),
    (Step.PREFILL, Outcome.BUSY): Row(Next.PLAIN, "prefill found slot {slot} busy"),
    (Step.PREFILL, Outcome.NO_CONNECTION): Row(Next.PREFILL_HTTP, _NO_CONNECTION),
    (Step.PREFILL, Outcome.REFUSED): Row(Next.PREFILL_HTTP, "prefill {reason}"),
    (Step.PREFILL, Outcome.NOT_SUPPORTED): Row(Next.PREFILL_HTTP, "prefill {reason}"),
    (Step.PREFILL, Outcome.MALFORMED): Row(Next.PREFILL_HTTP, "prefill answered OK without sense: {reason}"),
    (Step.PREFILL, Outcome.CUT_OFF): Row(Next.PREFILL_HTTP, _CUT_OFF),
    (Step.PREFILL, Outcome.TIMED_OUT): Row(Next.PLAIN, _NO_ANSWER),
    (Step.PREFILL_HTTP, Outcome.NO_CONNECTION): Row(Next.PLAIN, _NO_CONNECTION),
    (Step.PREFILL_HTTP, Outcome.REFUSED): Row(Next.PLAIN, "{step} {reason}"),
    (Step.PREFILL_HTTP, Outcome.CUT_OFF): Row(Next.PLAIN, _CUT_OFF),
    (Step.PREFILL_HTTP, Outcome.TIMED_OUT): Row(Next.PLAIN, _NO_ANSWER),
    (Step.STATE, Outcome.BUSY): Row(Next.PLAIN, "the state was not to be had, slot {slot} is busy"),
    (Step.STATE, Outcome.NO_CONNECTION): Row(Next.PLAIN, "the state was not to be had: {reason}"),
    (Step.STATE, Outcome.REFUSED): Row(Next.PLAIN, "the state was not to be had: state-get {reason}"),
    (Step.STATE, Outcome.EMPTY): Row(Next.PLAIN, "there is no state for {asked} tokens in an answer that was OK"),
    (Step.STATE, Outcome.MALFORMED): Row(Next.PLAIN, "the state is malformed: {reason}"),
    (Step.STATE, Outcome.OTHER_PROMPT): Row(
        Next.PLAIN, "the state is another prompt's: it has the first {common} of {asked} tokens"
    ),
    (Step.STATE, Outcome.CUT_OFF): Row(Next.AGAIN, "the state was cut off: {reason}"),
    (Step.STATE, Outcome.TIMED_OUT): Row(Next.AGAIN, "the state stopped for {seconds:g} s"),
    (Step.IDENTITY, Outcome.OTHER_MODEL): Row(Next.PLAIN, "the state is another model's: {reason}"),
    **_carrier_rows(Step.STATE_PUT, malformed=Next.PLAIN),
    **_carrier_rows(Step.DECODE, malformed=Next.STATE_PUT),
    (Step.DECODE, Outcome.NOT_SUPPORTED): Row(Next.STATE_PUT, _ANSWERED),
    (Step.DECODE, Outcome.OTHER_MODEL): Row(Next.PLAIN, _ANSWERED),
    (Step.DECODE, Outcome.CORRUPT): Row(Next.AGAIN, _ANSWERED),
    (Step.STATE_PUT, Outcome.BUSY): Row(Next.PLAIN, "the state was not taken, slot {slot} is busy"),
    (Step.RESULT, Outcome.REFUSED): Row(Next.PLAIN, "decode was accepted and then answered {status}: {body}"),
    (Step.RESULT, Outcome.CORRUPT): Row(Next.AGAIN, "decode was accepted and then answered {status}: {body}"),
    (Step.RESULT, Outcome.GONE): Row(Next.PLAIN, "decode was accepted and is not known any more: {body}"),
    (Step.RESULT, Outcome.TIMED_OUT): Row(Next.PLAIN, "decode was accepted and {reason}"),
    (Step.RESULT, Outcome.CUT_OFF): Row(Next.PLAIN, "decode was accepted and its reply broke: {reason}"),
    (Step.REPLY, Outcome.LOST): Row(
        Next.REPLY,
        "the decoder evaluated {evaluated} of {asked} prompt tokens after a handoff: the handed-over KV was not used",
    ),
    (Step.REPLY, Outcome.PARTIAL): Row(Next.REPLY, "the handed-over KV was used up to token {cached} of {asked}"),
    (Step.REPLY, Outcome.COLD): Row(
        Next.REPLY,
        "the decoder evaluated {evaluated} of {asked} prompt tokens: its slot no longer held the {warm} it was given",
    ),
    (Step.REPLY, Outcome.MISCOUNTED): Row(
        Next.REPLY, "the decoder counted {cached} cached and {evaluated} evaluated tokens of a prompt of {asked}"
    ),
}


NOT_THE_DECODERS = frozenset((Step.PROVIDER, Step.PREFILL, Step.PREFILL_HTTP, Step.STATE))
"""Steps that say nothing about the decoder when they get no answer."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What this router may do next."""

    has_state_file: bool = True
    strict: bool = False
    again: bool = True
    """Whether an engine's state may be asked for once more."""


class StepFailed(Exception):
    """A handoff step failed; `words` already hold the numbers of this failure."""

    def __init__(self, step: Step, outcome: Outcome, words: str) -> None:
        super().__init__(words)
        self.step = step
        self.outcome = outcome
        self.words = words

    @property
    def reason(self) -> str:
        """The failure as a word, for headers and metrics."""
        return f"{self.step}-{self.outcome}"


def failed(step: Step, outcome: Outcome, **values: object) -> StepFailed:
    """The failure to raise. KeyError: no such row, or a value that its words need is missing."""
    return StepFailed(step, outcome, TABLE[step, outcome].words.format(step=step, **values))


def what_follows(failure: StepFailed, policy: Policy) -> Next:
    """The next route after `failure`."""
    next_ = TABLE[failure.step, failure.outcome].next
    if next_ is Next.STATE_FILE and not policy.has_state_file:
        next_ = Next.PLAIN
    if next_ is Next.AGAIN and not policy.again:
        next_ = Next.PLAIN
    if policy.strict and next_ in (Next.PLAIN, Next.PLAIN_UNCACHED):
        return Next.REFUSE
    return next_


def line(failure: StepFailed, next_: Next) -> str:
    """The log line, without its prefix."""
    tail = TAILS[next_]
    return f"{failure.words}; {tail}" if tail else failure.words
