"""The three forms of a completion's answer: llama-server's own, OpenAI's text and OpenAI's chat.

A form turns one `Outcome` into the whole answer, or piece after piece into a stream's events. Field order is
llama-server's. Knows nothing of slots or sockets.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from fakes.generation import Stop
from fakes.params import Params
from wire.sse import DONE, encode_event

_Told = dict[str, Any] | None
_MARK = "\x00\x00"
_MARK_JSON = b'"\\u0000\\u0000"'


def to_json(value: object) -> bytes:
    return orjson.dumps(value)


@dataclass(slots=True)
class Outcome:
    """One finished completion. `content` is its whole text."""

    index: int
    content: str
    tokens: list[int]
    id_slot: int
    n_prompt: int
    tokens_cached: int
    prompt: str
    truncated: bool
    stop: Stop
    stopping_word: str
    told: list[dict[str, Any]]
    """For each token its probability and the likeliest; empty where that was not asked for, and for a stream."""
    timings: dict[str, Any]

    @property
    def finish_reason(self) -> str:
        return "length" if self.stop is Stop.LIMIT else "stop"


@dataclass(frozen=True, slots=True)
class Names:
    """What an answer says of its server and itself."""

    model: str
    fingerprint: str
    id: str
    created: int


class Form(ABC):
    """The shape of an answer."""

    done: tuple[bytes, ...] = (encode_event(DONE),)
    kind = ""

    def __init__(self, names: Names, params: Params) -> None:
        self.names = names
        self.params = params
        self.index = 0
        """Which of several prompts or choices the next piece belongs to."""

    @abstractmethod
    def whole(self, outcomes: list[Outcome]) -> Any:
        """The answer that is not streamed."""

    def joins(self) -> list[bytes]:
        """Events that go out when a further prompt gets its slot, where no progress is asked for."""
        return [_event(None)]

    def first(self) -> list[bytes]:
        """Events that go out with the first token."""
        return []

    @abstractmethod
    def piece(
        self, text: str, token: int, n_predicted: int, n_prompt: int, timings: _Told = None, told: _Told = None
    ) -> bytes:
        """The event of a piece of text, with timings and its token's probability where there are any."""

    @abstractmethod
    def last(self, outcome: Outcome) -> list[bytes]:
        """The events that end a stream, before `done`."""

    @abstractmethod
    def progress(self, numbers: Mapping[str, Any], n_prompt: int, timings: _Told = None) -> bytes:
        """The event of a prompt that is being evaluated."""


class NativeForm(Form):
    """POST /completion."""

    done = ()
    kind = "completion"

    def whole(self, outcomes: list[Outcome]) -> Any:
        tokens = self.params.return_tokens
        found = [self._cut(self._full(one, one.content, one.tokens if tokens else [])) for one in outcomes]
        return found if len(found) > 1 else found[0]

    def piece(
        self, text: str, token: int, n_predicted: int, n_prompt: int, timings: _Told = None, told: _Told = None
    ) -> bytes:
        frame = self._partial(text, token, n_predicted, n_prompt)
        if timings is not None:
            frame["timings"] = timings
        if told is not None:
            frame["completion_probabilities"] = [told]
        return _event(frame)

    def progress(self, numbers: Mapping[str, Any], n_prompt: int, timings: _Told = None) -> bytes:
        more = {} if timings is None else {"timings": timings}
        return _event(self._partial("", 0, 0, n_prompt) | more | {"prompt_progress": numbers})

    def last(self, outcome: Outcome) -> list[bytes]:
        return [_event(self._cut(self._full(outcome, "", [])))]

    def _partial(self, text: str, token: int, n_predicted: int, n_prompt: int) -> dict[str, Any]:
        return {
            "index": self.index,
            "content": text,
            "tokens": [token],
            "stop": False,
            "id_slot": -1,
            "tokens_predicted": n_predicted,
            "tokens_evaluated": n_prompt,
        }

    def _full(self, outcome: Outcome, content: str, tokens: list[int]) -> dict[str, Any]:
        return {
            "index": outcome.index,
            "content": content,
            "tokens": tokens,
            "id_slot": outcome.id_slot,
            "stop": True,
            "model": self.names.model,
            "tokens_predicted": outcome.timings["predicted_n"],
            "tokens_evaluated": outcome.n_prompt,
            "generation_settings": self.params.settings(chat=False),
            "prompt": outcome.prompt,
            "has_new_line": "\n" in outcome.content,
            "truncated": outcome.truncated,
            "stop_type": outcome.stop.value,
            "stopping_word": outcome.stopping_word,
            "tokens_cached": outcome.tokens_cached,
            "timings": outcome.timings,
        } | ({"completion_probabilities": outcome.told} if outcome.told else {})

    def _cut(self, full: dict[str, Any]) -> dict[str, Any]:
        if not self.params.response_fields:
            return full
        found: dict[str, Any] = {}
        for path in self.params.response_fields:
            value: Any = full
            for name in path.split("/"):
                value = value.get(name) if isinstance(value, dict) else None
            if value is not None:
                found[path] = value
        return found


class OpenAiForm(Form):
    """What both OpenAI forms have in common: the envelope, made once for all frames of an answer."""

    object = ""
    chunk_object = ""

    def __init__(self, names: Names, params: Params) -> None:
        super().__init__(names, params)
        self._tail = b""
        self._around = (-1, b"", b"")
        """For which index, and what stands before and after the text of a piece: the same in every frame."""

    def whole(self, outcomes: list[Outcome]) -> Any:
        answer = {"choices": [self._choice(outcome) for outcome in outcomes]} | self._envelope(self.object)
        answer["usage"] = _usage(outcomes[0])  # of several choices the first alone is counted
        answer["id"] = answer.pop("id")
        answer["timings"] = outcomes[0].timings
        return answer

    def progress(self, numbers: Mapping[str, Any], n_prompt: int, timings: _Told = None) -> bytes:
        more = b"" if timings is None else b',"timings":' + to_json(timings)
        return self._frame(self._delta(None, None), more + b',"prompt_progress":' + to_json(numbers))

    def piece(
        self, text: str, token: int, n_predicted: int, n_prompt: int, timings: _Told = None, told: _Told = None
    ) -> bytes:
        if timings is not None or told is not None:
            more = b"" if timings is None else b',"timings":' + to_json(timings)
            return self._frame(self._delta(text, None, told), more)
        if self._around[0] != self.index:
            before, after = self._frame(self._delta(_MARK, None)).split(_MARK_JSON)
            self._around = self.index, before, after
        return self._around[1] + to_json(text) + self._around[2]

    def _frame(self, choices: bytes, more: bytes = b"") -> bytes:
        if not self._tail:
            self._tail = to_json(self._envelope(self.chunk_object))[1:-1]
        return b'data: {"choices":' + choices + b"," + self._tail + more + b"}\n\n"

    def _envelope(self, object_name: str) -> dict[str, Any]:
        return {
            "created": self.names.created,
            "id": self.names.id,
            "model": self.names.model,
            "system_fingerprint": self.names.fingerprint,
            "object": object_name,
        }

    @abstractmethod
    def _choice(self, outcome: Outcome) -> dict[str, Any]:
        """One choice of an answer that is not streamed."""

    @abstractmethod
    def _delta(self, text: str | None, finish_reason: str | None, told: _Told = None) -> bytes:
        """The `choices` of a frame, as JSON."""


class TextForm(OpenAiForm):
    """POST /v1/completions."""

    kind = "text"
    object = chunk_object = "text_completion"

    def last(self, outcome: Outcome) -> list[bytes]:
        more = b',"usage":' + to_json(_usage(outcome)) + b',"timings":' + to_json(outcome.timings)
        return [self._frame(self._delta("", outcome.finish_reason), more)]

    def _choice(self, outcome: Outcome) -> dict[str, Any]:
        return {
            "text": outcome.content,
            "index": outcome.index,
            "logprobs": {"content": outcome.told} if outcome.told else None,
            "finish_reason": outcome.finish_reason,
        }

    def _delta(self, text: str | None, finish_reason: str | None, told: _Told = None) -> bytes:
        logprobs = None if told is None else {"content": [told]}
        return to_json(
            [{"text": text or "", "index": self.index, "logprobs": logprobs, "finish_reason": finish_reason}]
        )


class ChatForm(OpenAiForm):
    """POST /v1/chat/completions. `begun` is what the last message already says of the answer."""

    kind = "chat"
    object = "chat.completion"
    chunk_object = "chat.completion.chunk"

    def __init__(self, names: Names, params: Params, begun: str = "") -> None:
        super().__init__(names, params)
        self.begun = begun

    def joins(self) -> list[bytes]:
        return []

    def first(self) -> list[bytes]:
        opening = [self._frame(self._delta(None, None))]
        if self.begun:
            opening.append(self._frame(self._delta(self.begun, None)))
        return opening

    def last(self, outcome: Outcome) -> list[bytes]:
        timings = b',"timings":' + to_json(outcome.timings)
        end = self._delta("", outcome.finish_reason)
        options = self.params.body.get("stream_options")
        if not (isinstance(options, dict) and options.get("include_usage") is True):
            return [self._frame(end, timings)]
        return [self._frame(end), self._frame(b"[]", b',"usage":' + to_json(_usage(outcome)) + timings)]

    def _choice(self, outcome: Outcome) -> dict[str, Any]:
        message = {"role": "assistant", "content": self.begun + outcome.content}
        choice = {"finish_reason": outcome.finish_reason, "index": outcome.index, "message": message}
        return choice | ({"logprobs": {"content": outcome.told}} if outcome.told else {})

    def _delta(self, text: str | None, finish_reason: str | None, told: _Told = None) -> bytes:
        delta = {} if finish_reason else {"role": "assistant", "content": None} if text is None else {"content": text}
        choice: dict[str, Any] = {"finish_reason": finish_reason, "index": self.index, "delta": delta}
        return to_json([choice if told is None else choice | {"logprobs": {"content": [told]}}])


def _usage(outcome: Outcome) -> dict[str, Any]:
    n_predicted = outcome.timings["predicted_n"]
    return {
        "completion_tokens": n_predicted,
        "prompt_tokens": outcome.n_prompt,
        "total_tokens": n_predicted + outcome.n_prompt,
        "prompt_tokens_details": {"cached_tokens": outcome.timings["cache_n"]},
    }


def _event(value: object) -> bytes:
    return b"data: " + to_json(value) + b"\n\n"
