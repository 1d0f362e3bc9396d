"""Section 6.5: streams that can be taken up again."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from harness.conform.clause import Clause, TooLate, demand, expect, probed, refused, row
from harness.conform.match import keys
from harness.conform.target import LONG_REPLY, Target, completion
from harness.conform.wire_client import Answer, Ask, Talk, get, post

_KEYS = keys("conversation_id is_done total_bytes started_at completed_at")
_LOOK_UP = "/v1/streams/lookup"


def _asked(t: Target, name: str, n_predict: int, **fields: Any) -> Ask:
    body = completion(t.prompt(8), n_predict, id_slot=0, stream=True, **fields)
    return post("/completion", body, X_Conversation_Id=name)


async def _found(t: Target, *names: str) -> list[dict[str, Any]]:
    return list(await t.json(post(_LOOK_UP, {"conversation_ids": list(names)})))


async def _replayed(t: Target, name: str, at: int = 0) -> Answer:
    answer = await t.ask(get(f"/v1/stream?conv_id={name}&from={at}"))
    expect(answer.status, 200, "the status of the replay")
    return answer


async def _done(t: Target, name: str) -> None:
    async def done() -> bool:
        return all(each["is_done"] for each in await _found(t, name))

    await t.until(f"the conversation {name} to be done", done)


@asynccontextmanager
async def _working(t: Target, name: str) -> AsyncIterator[Talk]:
    """A long stream of that name, whose first event is there."""
    async with await Talk.open(t.url) as talk:
        await talk.send(t.dressed(_asked(t, name, LONG_REPLY)).encoded())
        await talk.read_head()
        await talk.chunk()
        yield talk


async def shown(t: Target) -> None:
    """A stream with X-Conversation-Id shows in /v1/streams/lookup, done, with the bytes of its events."""
    answer = await t.ask(_asked(t, "shown", 3))
    await _done(t, "shown")
    found = await _found(t, "shown", "nobody")
    expect(found, [_KEYS], "the list")
    like = {"conversation_id": "shown", "is_done": True, "total_bytes": len(answer.body), "started_at": int}
    expect(found, [like], "the list")


async def again(t: Target) -> None:
    """GET /v1/stream gives its events again, all or from a byte on."""
    answer = await t.ask(_asked(t, "again", 3))
    replayed = await _replayed(t, "again")
    expect(replayed.header("Content-Type"), "text/event-stream", "Content-Type")
    demand(replayed.body == answer.body, f"the replay is {replayed.body[:160]!r}")
    for at in (1, 100, len(answer.body), len(answer.body) + 9):
        part = (await _replayed(t, "again", at)).body
        demand(part == answer.body[at:], f"from byte {at} on it is {part[:160]!r}")


async def goes_on(t: Target) -> None:
    """A client that leaves does not end it: it is worked on to its end."""
    async with _working(t, "left"):
        pass
    await _done(t, "left")
    expect((await _replayed(t, "left")).frames[-1], {"stop": True, "tokens_predicted": LONG_REPLY}, "the last event")


async def ended(t: Target) -> None:
    """DELETE /v1/stream is 204, frees its slot, and ends its stream without a last event."""
    async with _working(t, "ended") as talk:
        answer = await t.ask(Ask("DELETE", "/v1/stream?conv_id=ended"))
        expect((answer.status, answer.body), lambda found: found == (204, b""), "status and body")
        events = [chunk async for chunk in _rest(talk)]
    if events and b'"stop":true' in events[-1]:
        raise TooLate("the stream had ended before it was told to")
    await t.idle(0)
    expect(await _found(t, "ended"), [], "the list")


async def replaced(t: Target) -> None:
    """Another stream of the same name ends the first."""
    async with _working(t, "same") as talk:
        await t.ask(_asked(t, "same", 2))
        events = [chunk async for chunk in _rest(talk)]
    if events and b'"stop":true' in events[-1]:
        raise TooLate("the stream had ended before there was another")
    await _done(t, "same")
    expect((await _replayed(t, "same")).frames[-1], {"tokens_predicted": 2}, "the last event")


async def _rest(talk: Talk) -> AsyncIterator[bytes]:
    while chunk := await talk.chunk():
        yield chunk


async def not_streamed(t: Target) -> None:
    """What is not streamed is no conversation."""
    await t.json(post("/completion", completion(t.prompt(8), 2), X_Conversation_Id="whole"))
    expect(await _found(t, "whole"), [], "the list")


async def wrong_offset(t: Target) -> None:
    """A replay from no byte is refused."""
    await t.ask(_asked(t, "offset", 1))
    answer = await t.ask(get("/v1/stream?conv_id=offset&from=x"))
    expect(answer.status, 400, "the status")
    expect(answer.json["error"], {"message": "Invalid 'from' offset", "type": "invalid_request_error"}, "error")


async def no_json(t: Target) -> None:
    """A look-up that is no JSON is refused, by an error without a code."""
    answer = await t.ask(post(_LOOK_UP, b"x"))
    expect(answer.status, 400, "the status")
    expect(answer.json["error"], keys("message type"), "error")
    expect(answer.json["error"]["message"], lambda text: text.startswith("invalid body: [json.exception"), "message")


def _unnamed(method: str) -> Clause:
    says = f"{method} /v1/stream without conv_id is refused"
    message = "Missing conversation id in path"
    return refused("6.5", says, Ask(method, "/v1/stream"), 400, "invalid_request_error", message)


CLAUSES: tuple[Clause, ...] = (
    *probed("6.5", shown, again, goes_on, ended, replaced, not_streamed, wrong_offset, no_json),
    row(
        "6.5", "A look-up of conversations there are not is empty", post(_LOOK_UP, {"conversation_ids": ["x"]}), like=[]
    ),
    row("6.5", "DELETE of a conversation there is not is 204", Ask("DELETE", "/v1/stream?conv_id=x"), 204),
    refused(
        "6.5",
        "A replay of a conversation there is not is 404",
        get("/v1/stream?conv_id=x"),
        404,
        "not_found_error",
        "File Not Found",
    ),
    _unnamed("GET"),
    _unnamed("DELETE"),
)
