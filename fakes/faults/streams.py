"""Streams of events that stop, stall or go wrong. The work and the tokens are right up to there."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from fakes.fault import Fault, Value, one_of, whole_number
from fakes.point import Point
from fakes.steps import Halt, Piece, StreamEdit, StreamOut, Wait

_DONE = b"data: [DONE]\n\n"
_COMMENT = b": keep waiting\n\n"
_WORDS = {"close": Halt.CLOSE, "reset": Halt.RESET}


@dataclass(slots=True)
class _After(StreamEdit):
    """After `k` events, or at the end of a stream that has no more than them, these pieces come."""

    k: int
    pieces: tuple[Piece, ...]
    have_come: bool = False

    def event(self, index: int, data: bytes) -> Iterator[Piece]:
        if index == self.k:
            self.have_come = True
            yield from self.pieces
        yield data

    def end(self) -> Iterable[Piece]:
        return () if self.have_come else self.pieces


@dataclass(frozen=True, slots=True)
class _Each(StreamEdit):
    """Every event as `edit` has it."""

    edit: Callable[[bytes], Iterable[Piece]]

    def event(self, index: int, data: bytes) -> Iterable[Piece]:
        return self.edit(data)


def _with(out: StreamOut, edit: StreamEdit) -> StreamOut:
    return replace(out, edits=(*out.edits, edit))


def cut(out: StreamOut, k: int) -> StreamOut:
    """After k events the connection is closed: no last chunk, no finish reason, no end mark.

    The decoder says nothing of it. A correct router ends its client's stream with an error, or breaks it off; it never
    lets it look finished, nor joins on what another decoder would say.
    """
    return _with(out, _After(k, (Halt.CLOSE,)))


def reset(out: StreamOut, k: int) -> StreamOut:
    """After k events the connection is reset.

    The decoder says nothing of it. A correct router does as with a stream that is cut: an error, and no second start.
    """
    return _with(out, _After(k, (Halt.RESET,)))


def stall(out: StreamOut, k: int) -> StreamOut:
    """After k events nothing more comes, no comment either; the connection stays open and the slot busy.

    The decoder claims to be at work. A correct router ends the stream with an error when its limit for silence is
    reached, and closes its own connection, which frees the slot.
    """
    return _with(out, _After(k, (Halt.STALL,)))


def tidy_end(out: StreamOut, k: int) -> StreamOut:
    """After k events the body ends as HTTP has it, with its last chunk: no finish reason, no end mark.

    The transfer looks whole. A correct router sees that the answer has no finish, and does not present it as finished.
    """
    return _with(out, _After(k, (Halt.TIDY,)))


def no_end_mark(out: StreamOut) -> StreamOut:
    """Every event comes, with finish reason and timings; the `[DONE]` after them does not, and the body ends.

    The decoder claims that it is finished by the finish reason alone. A correct router gives its client a stream that
    ends as the client expects, and counts the request as served.
    """
    return _with(out, _Each(lambda data: () if data == _DONE else (data,)))


def double_end_mark(out: StreamOut) -> StreamOut:
    """`[DONE]` comes twice.

    The decoder says it twice. A correct router lets the answer end once, and is not upset by what follows.
    """
    return _with(out, _Each(lambda data: (data, data) if data == _DONE else (data,)))


def malformed(out: StreamOut, k: int) -> StreamOut:
    """After k events comes one whose data is broken JSON; the rest comes as it should.

    The decoder claims that it is an event. A correct router does not let one bad line end a stream that the decoder
    completes: it passes it on or leaves it out, and says so in its log.
    """
    return _with(out, _After(k, (b'data: {"choices":[{"delta":{"content":"half a\n\n',)))


def unknown(out: StreamOut, k: int) -> StreamOut:
    """After k events comes one of a kind that nobody knows, with a name and an id; the rest comes as it should.

    The decoder claims nothing that matters. A correct router passes it on or skips it, and completes the stream.
    """
    return _with(out, _After(k, (b'event: telemetry\nid: 7\ndata: {"watts": 15}\n\n',)))


def error_event(out: StreamOut, k: int) -> StreamOut:
    """After k events comes an error in the stream, in the server's own shape, and the body ends: status 200, no mark.

    The decoder says plainly, in the only way left, that it failed. A correct router hands the error on to its client
    and counts the request as failed.
    """
    error = {"error": {"code": 500, "message": "the compute graph failed", "type": "server_error"}}
    return _with(out, _After(k, (b"data: " + json.dumps(error).encode() + b"\n\n", Halt.TIDY)))


def recompute(out: StreamOut, k: int) -> StreamOut:
    """After k events the stream finishes with the reason `recomputed`: the decoder has given up the slot's rows.

    The decoder asks that prompt and answer so far be sent again. A correct router either carries on with exactly these
    tokens, or gives its client an error; it never builds a new prompt out of the text.
    """
    last = {"choices": [{"index": 0, "delta": {}, "finish_reason": "recomputed"}], "object": "chat.completion.chunk"}
    return _with(out, _After(k, (b"data: " + json.dumps(last).encode() + b"\n\n", _DONE, Halt.TIDY)))


def split(out: StreamOut, milliseconds: int) -> StreamOut:
    """Every event carries a field with a character of two bytes, and comes in two writes, parted inside it.

    All is right. A correct router puts the bytes together before it reads them as text, and loses none.
    """
    return _with(out, _Each(lambda data: _parted(data, milliseconds / 1000)))


def _parted(data: bytes, gap_s: float) -> Iterable[Piece]:
    if not data.startswith(b"data: {"):
        return (data,)
    marked = b'data: {"note":"\xc3\xa9",' + data[7:]
    middle = marked.index(b"\xc3") + 1
    return (marked[:middle], Wait(gap_s), marked[middle:])


def comments(out: StreamOut, n: int) -> StreamOut:
    """Before every event come n comment lines, as servers send to keep a connection alive.

    The decoder claims nothing by them. A correct router does not take them for tokens, nor for an end of silence that
    would keep a dead stream alive for ever.
    """
    return _with(out, _Each(lambda data: (_COMMENT * n, data)))


def only_comments(out: StreamOut, milliseconds: int) -> StreamOut:
    """In place of any event a comment comes every so often, without end; the slot stays busy.

    The decoder claims to be alive. A correct router's limit for the request still holds, whatever it hears.
    """
    return _with(out, _OnlyComments(milliseconds / 1000))


@dataclass(frozen=True, slots=True)
class _OnlyComments(StreamEdit):
    gap_s: float

    def event(self, index: int, data: bytes) -> Iterator[Piece]:
        while True:
            yield _COMMENT
            yield Wait(self.gap_s)


def empty_deltas(out: StreamOut, n: int) -> StreamOut:
    """Before every event come n events of the same shape with an empty text.

    The decoder claims progress without a token. A correct router passes them on or drops them; they change no text, no
    count, and are not the first token.
    """
    empty = b'data: {"choices":[{"finish_reason":null,"index":0,"delta":{"content":""},"text":""}],"content":""}\n\n'
    return _with(out, _Each(lambda data: (*[empty] * n, data) if data != _DONE else (data,)))


def slow(out: StreamOut, milliseconds: int) -> StreamOut:
    """So much time passes before every event.

    All is right, only slow. A correct router gives each event on as it comes, and when its client leaves it closes its
    own connection within a second, which the journal's `disconnect` shows.
    """
    return _with(out, _Each(lambda data: (Wait(milliseconds / 1000), data)))


def one_chunk(out: StreamOut) -> StreamOut:
    """All events come as one chunk, when the answer has ended.

    All is right. A correct router takes the events apart by their blank lines, not by chunks.
    """
    return _with(out, _OneChunk())


class _OneChunk(StreamEdit):
    def __init__(self) -> None:
        self._kept: list[bytes] = []

    def event(self, index: int, data: bytes) -> Iterable[Piece]:
        self._kept.append(data)
        return ()

    def end(self) -> Iterable[Piece]:
        return (b"".join(self._kept),)


def line_ends(out: StreamOut, how: str) -> StreamOut:
    """Lines end otherwise than with a line feed: with CR and LF, or CR alone. Both are allowed.

    All is right. A correct router reads event streams as they are defined, or passes the bytes on.
    """
    end = b"\r\n" if how == "crlf" else b"\r"
    return _with(out, _Each(lambda data: (data.replace(b"\n", end),)))


def content_type(out: StreamOut, name: str) -> StreamOut:
    """The events are right; the head calls the stream something else.

    The decoder claims another format. A correct router tells its client what is really sent, or ends the request with
    an error that names the type.
    """
    return replace(out, content_type=name)


def dies(out: StreamOut, k: int) -> StreamOut:
    """After k events the process is killed.

    The decoder says nothing. A correct router ends the stream with an error, takes the decoder out of use, and starts
    it again where it is its own.
    """
    return _with(out, _After(k, (Halt.DIE,)))


_K = Value(whole_number(0, 1 << 30), 3, "events that come first")
_N = Value(whole_number(1, 100_000), 3, "how many of them")
_GAP = Value(whole_number(1, 3_600_000), 5, "ms in between")
_BROKEN = ("BerriAI/litellm#40404", "gpustack/gpustack#5939")
_CHUNKS = ("vllm-project/vllm-ascend#13466",)
FAULTS = (
    Fault("stream-cut", Point.STREAM, cut, _K, _BROKEN),
    Fault("stream-reset", Point.STREAM, reset, _K, _BROKEN),
    Fault("stream-stall", Point.STREAM, stall, _K, ("vllm-project/vllm-ascend#14123", "BerriAI/litellm#40404")),
    Fault("stream-tidy-end", Point.STREAM, tidy_end, _K, ("gpustack/gpustack#5939", "open-webui/open-webui#29628")),
    Fault("stream-no-end-mark", Point.STREAM, no_end_mark, reports=("open-webui/open-webui#29628",)),
    Fault("stream-double-end-mark", Point.STREAM, double_end_mark, reports=("BerriAI/litellm#40404",)),
    Fault("stream-malformed", Point.STREAM, malformed, _K, ("BerriAI/litellm#40404",)),
    Fault("stream-unknown-event", Point.STREAM, unknown, _K, ("BerriAI/litellm#40404",)),
    Fault("stream-error", Point.STREAM, error_event, _K, ("BerriAI/litellm#38610",)),
    Fault("stream-recompute", Point.STREAM, recompute, _K, _CHUNKS),
    Fault("stream-split-character", Point.STREAM, split, _GAP, _CHUNKS),
    Fault("stream-comments", Point.STREAM, comments, _N, ("BerriAI/litellm#31499",)),
    Fault("stream-only-comments", Point.STREAM, only_comments, _GAP, ("vllm-project/vllm-ascend#14123",)),
    Fault("stream-empty-deltas", Point.STREAM, empty_deltas, _N, ("BerriAI/litellm#38610",)),
    Fault("stream-slow", Point.STREAM, slow, _GAP, ("ggml-org/llama.cpp#24496", "BerriAI/litellm#30244")),
    Fault("stream-one-chunk", Point.STREAM, one_chunk, reports=_CHUNKS),
    Fault(
        "stream-line-ends",
        Point.STREAM,
        line_ends,
        Value(one_of("crlf", "cr"), "crlf", "what ends a line"),
        _CHUNKS,
    ),
    Fault(
        "stream-content-type",
        Point.STREAM,
        content_type,
        Value(one_of("application/octet-stream", "text/plain", "application/json"), "text/plain", "the type it says"),
        ("BerriAI/litellm#40404",),
    ),
    Fault("stream-dies", Point.STREAM, dies, _K, ("lemonade-sdk/lemonade#1836", "ai-dynamo/dynamo#13088")),
)
