"""Section 3: HTTP rules."""

from __future__ import annotations

from harness.conform.clause import Clause, demand, expect, probed, refused, row
from harness.conform.target import Target, chat, completion
from harness.conform.wire_client import Ask, NoAnswer, Talk, get, post

_NORMAL = ["Server", "Access-Control-Allow-Origin", "Content-Type", "Content-Length", "Keep-Alive"]
_STREAM = [
    "Server",
    "Access-Control-Allow-Origin",
    "X-Accel-Buffering",
    "Content-Type",
    "Transfer-Encoding",
    "Keep-Alive",
]
_KEEP = "timeout=5, max=100"
_JSON = "application/json; charset=utf-8"
_NOT_FOUND = (404, "not_found_error", "File Not Found")


async def normal_head(t: Target) -> None:
    """A normal answer has just Server, Access-Control-Allow-Origin, Content-Type, Content-Length, Keep-Alive."""
    answer = await t.ask(get("/health"))
    expect(answer.names, _NORMAL, "the headers")
    expect(answer.header("Server"), "llama.cpp", "Server")
    expect(answer.header("Content-Type"), _JSON, "Content-Type")
    expect(answer.header("Keep-Alive"), _KEEP, "Keep-Alive")


async def stream_head(t: Target) -> None:
    """A stream has X-Accel-Buffering, text/event-stream and chunks, and no length."""
    answer = await t.stream("/completion", completion([400, 401], 2))
    expect(answer.names, _STREAM, "the headers")
    expect(answer.header("X-Accel-Buffering"), "no", "X-Accel-Buffering")
    expect(answer.header("Content-Type"), "text/event-stream", "Content-Type")
    expect(answer.header("Transfer-Encoding"), "chunked", "Transfer-Encoding")


async def error_head(t: Target) -> None:
    """An error says Connection: close instead of Keep-Alive."""
    answer = await t.ask(post("/completion", b"no json"))
    expect(answer.names, [*_NORMAL[:-1], "Connection"], "the headers")
    expect(answer.header("Connection"), "close", "Connection")


async def error_closes(t: Target) -> None:
    """After an error the connection is closed."""
    async with await Talk.open(t.url) as talk:
        await talk.ask(t.dressed(post("/completion", b"no json")))
        expect(await talk.ended(3.0), b"", "what comes after the error")


async def stays_open(t: Target) -> None:
    """After a success the connection is used again."""
    async with await Talk.open(t.url) as talk:
        for _ in range(3):
            expect((await talk.ask(t.dressed(get("/health")))).status, 200, "the status")


async def stays_open_after_stream(t: Target) -> None:
    """A finished stream leaves its connection usable."""
    async with await Talk.open(t.url) as talk:
        answer = await talk.ask(t.dressed(post("/completion", completion([400, 401], 2, stream=True))))
        expect(answer.status, 200, "the status of the stream")
        expect((await talk.ask(t.dressed(get("/health")))).status, 200, "the status after it")


async def hundred(t: Target) -> None:
    """The hundredth answer of a connection says that it closes, and no earlier one does."""
    async with await Talk.open(t.url) as talk:
        closing = []
        for number in range(1, 101):
            if (await talk.ask(t.dressed(get("/health")))).closes:
                closing.append(number)
        expect(closing, [100], "the answers that say Connection: close")
        expect(await talk.ended(3.0), b"", "what comes after it")


async def idle_close(t: Target) -> None:
    """A connection that is idle for 5 s is closed."""
    async with await Talk.open(t.url) as talk:
        await talk.ask(t.dressed(get("/health")))
        expect(await talk.ended(8.0), b"", "what comes before the close")


async def chunked_request(t: Target) -> None:
    """A chunked request body is taken."""
    body = b'{"content":"a river"}'
    chunks = b"".join(b"1\r\n%b\r\n" % body[at : at + 1] for at in range(len(body))) + b"0\r\n\r\n"
    ask = Ask("POST", "/tokenize", chunks, (("Transfer-Encoding", "chunked"),))
    expect((await t.ask(ask)).json, {"tokens": list})


async def expects_continue(t: Target) -> None:
    """Expect: 100-continue is answered before the body is sent."""
    body = b'{"content":"a river"}'
    async with await Talk.open(t.url) as talk:
        await talk.send(
            b"POST /tokenize HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n" % len(body)
        )
        expect((await talk.answer()).status, 100, "the first status")
        await talk.send(body)
        expect((await talk.answer("POST")).status, 200, "the status after the body")


async def garbage(t: Target) -> None:
    """Garbage instead of a request line is 400 with an empty body, and a close."""
    async with await Talk.open(t.url) as talk:
        await talk.send(b"\x16\x03\x01 this is no request\r\n\r\n")
        answer = await talk.answer()
        expect(answer.status, 400, "the status")
        expect(answer.body, b"", "the body")
        await talk.ended(3.0)


async def old_client_stream(t: Target) -> None:
    """A stream is chunked even to an HTTP/1.0 client."""
    ask = t.dressed(post("/completion", completion([400, 401], 2, stream=True)))
    async with await Talk.open(t.url) as talk:
        await talk.send(ask.encoded().replace(b"HTTP/1.1", b"HTTP/1.0", 1))
        answer = await talk.answer("POST")
    demand(answer.chunks, f"the headers are {answer.headers}")


async def old_client_closes(t: Target) -> None:
    """An HTTP/1.0 client's connection is closed after the answer."""
    async with await Talk.open(t.url) as talk:
        await talk.send(b"GET /health HTTP/1.0\r\n\r\n")
        expect((await talk.answer()).status, 200, "the status")
        await talk.ended(3.0)


async def close_wish(t: Target) -> None:
    """A client's own Connection: close is honoured."""
    async with await Talk.open(t.url) as talk:
        answer = await talk.ask(t.dressed(get("/health", Connection="close")))
        expect(answer.header("Connection"), "close", "Connection")
        await talk.ended(3.0)


async def event_is_a_chunk(t: Target) -> None:
    """Each event of a stream is one chunk, one `data: ` line and a blank one."""
    answer = await t.stream("/completion", completion(t.prompt(5), 5))
    chunks = answer.chunks or []
    whole = all(each.startswith(b"data: {") and each.endswith(b"}\n\n") and each.count(b"\n") == 2 for each in chunks)
    demand(whole and len(chunks) > 1, f"the chunks are {chunks[:2]}")


async def pipelined(t: Target) -> None:
    """Two requests that come at once are answered one after the other."""
    async with await Talk.open(t.url) as talk:
        one, two = (t.dressed(get(path)).encoded() for path in ("/health", "/lora-adapters"))
        await talk.send(one + two)
        try:
            found = [(await talk.answer()).json for _ in range(2)]
        except NoAnswer as silent:
            demand(False, str(silent))
    expect(found, [{"status": "ok"}, list], "the answers")


def _missing(method: str, path: str) -> Clause:
    return refused("3", f"{method} {path} is 404", Ask(method, path, b"" if method != "GET" else None), *_NOT_FOUND)


CLAUSES: tuple[Clause, ...] = (
    *probed("3", normal_head, stream_head, error_head, error_closes, stays_open, stays_open_after_stream, hundred),
    *probed("3", idle_close, setting="ram"),
    *probed("3", chunked_request, expects_continue, garbage, old_client_stream, old_client_closes, close_wish),
    *probed("3", event_is_a_chunk, pipelined),
    row(
        "3",
        "The content type of a request is ignored",
        post("/tokenize", {"content": "a"}, Content_Type="text/plain"),
        like={"tokens": list},
    ),
    *(
        _missing(method, path)
        for method, path in (
            ("GET", "/completion"),
            ("GET", "/v1/chat/completions"),
            ("GET", "/tokenize"),
            ("POST", "/health"),
            ("POST", "/slots"),
            ("PUT", "/health"),
            ("DELETE", "/slots"),
            ("PATCH", "/completion"),
            ("GET", "/health/"),
            ("GET", "/v1"),
            ("GET", "/nowhere"),
        )
    ),
    row(
        "3",
        "HEAD works where GET does, with Accept-Ranges",
        Ask("HEAD", "/health"),
        headers={"Accept-Ranges": "bytes", "Content-Length": "15"},
    ),
    row(
        "3",
        "OPTIONS on any path is 200 with what is allowed",
        Ask("OPTIONS", "/nowhere"),
        headers={
            "Content-Type": "text/html",
            "Content-Length": "0",
            "Access-Control-Allow-Credentials": "true",
            "Access-Control-Allow-Methods": "GET, POST, DELETE, OPTIONS",
            "Access-Control-Allow-Headers": "*",
        },
    ),
    row(
        "3",
        "The origin of a request is echoed",
        get("/health", Origin="http://b.example"),
        headers={"Access-Control-Allow-Origin": "http://b.example"},
    ),
    row(
        "3",
        "Without an origin the header is there and empty",
        get("/health"),
        headers={"Access-Control-Allow-Origin": ""},
    ),
    row(
        "3",
        "With --cors-origins Access-Control-Allow-Origin is just that, whoever asks",
        get("/health", Origin="http://b.example"),
        headers={"Access-Control-Allow-Origin": "http://a.example"},
        setting="defaults",
    ),
    row(
        "3",
        "--cors-methods and --cors-headers are what OPTIONS answers",
        Ask("OPTIONS", "/health"),
        headers={"Access-Control-Allow-Methods": "GET", "Access-Control-Allow-Headers": "X-A"},
        setting="defaults",
    ),
    row("3", "POST /completions is /completion", post("/completions", completion([400], 1)), like={"content": str}),
    row(
        "3",
        "POST /chat/completions is /v1/chat/completions",
        post("/chat/completions", chat(n_predict=1)),
        like={"object": "chat.completion"},
    ),
    row("3", "GET /models is /v1/models", get("/models"), like={"object": "list"}),
    row("3", "GET /v1/health is /health", get("/v1/health"), like={"status": "ok"}),
    *(
        refused(
            "3",
            f"POST {path} is off unless asked for",
            post(path, {"input": "a"}),
            501,
            "not_supported_error",
            f"This server does not support {what}. Start it with `--{what}`",
        )
        for what, paths in (
            ("embeddings", ("/embeddings", "/v1/embeddings", "/embedding")),
            ("reranking", ("/rerank", "/v1/rerank", "/reranking")),
        )
        for path in paths
    ),
)
