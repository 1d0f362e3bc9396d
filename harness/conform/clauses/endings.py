"""Section 1: start and stop."""

from __future__ import annotations

import signal
import socket

from harness.conform.clause import Clause, TooLate, demand, expect, probed
from harness.conform.own_process import OwnProcess, free_port
from harness.conform.setting import OWN
from harness.conform.target import LONG_REPLY, completion
from harness.conform.wire_client import Answer, Ask, NoAnswer, Talk, get, post
from harness.deadline import until

_CUT_S = 4.0
"""A server that notices at its next ping does so within this."""
_LOADING = {"error": {"message": "Loading model", "type": "unavailable_error", "code": 503}}


async def _refused(own: OwnProcess, words: tuple[str, ...], *texts: str) -> None:
    ended = await own.end_of(words)
    expect(ended.status, 1, "the exit status")
    for text in texts:
        demand(text in ended.log, f"{text!r} is not in what it wrote: {ended.log[-300:]!r}")


async def unknown_flag(own: OwnProcess) -> None:
    """An unknown flag ends the start with status 1, named."""
    await _refused(own, own.usual("--frobnicate"), "error: invalid argument: --frobnicate")


async def no_value(own: OwnProcess) -> None:
    """A flag without its value ends the start with status 1, named."""
    await _refused(own, own.usual("--ctx-size"), 'error while handling argument "--ctx-size":')


async def bad_number(own: OwnProcess) -> None:
    """A flag whose value is no number ends the start with status 1, named."""
    await _refused(own, own.usual("--ctx-size", "many"), 'error while handling argument "--ctx-size":')


async def no_folder(own: OwnProcess) -> None:
    """A slot-save path that is no directory ends the start with status 1, and is not created."""
    path = own.path("nowhere")
    await _refused(own, own.usual("--slot-save-path", str(path)), f"not a directory: {path}")
    demand(not path.exists(), "the directory was created")


async def no_model(own: OwnProcess) -> None:
    """A model that is not there ends the start with status 1, said in the last line."""
    words = list(own.usual())
    words[words.index("-m") + 1] = str(own.path("missing.gguf"))
    await _refused(own, tuple(words), "exiting due to model loading error")


async def no_gguf(own: OwnProcess) -> None:
    """A model file that is no GGUF ends the start with status 1."""
    words, path = list(own.usual()), own.path("text.gguf")
    path.write_text("this is no model\n" * 10)
    words[words.index("-m") + 1] = str(path)
    await _refused(own, tuple(words), "exiting due to model loading error")


async def port_in_use(own: OwnProcess) -> None:
    """A port that is in use ends the start with status 1, host and port named."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        text = f"couldn't bind HTTP server socket, hostname: 127.0.0.1, port: {port}"
        await _refused(own, own.usual(port=port), text)


async def says_version(own: OwnProcess) -> None:
    """With --version it says so and exits with 0."""
    ended = await own.end_of(("--version",))
    expect(ended.status, 0, "the exit status")
    demand("version: " in ended.log, f"no version in {ended.log!r}")


async def while_loading(own: OwnProcess, ask: Ask, *flags: str) -> Answer:
    """What is answered from the first moment that the port answers, which may be after the load."""
    port = free_port()
    process = await own.start(own.slow(*flags, port=port))
    try:

        async def begun() -> bool | None:
            return True if process.output.path.stat().st_size else None

        async def first() -> Answer | None:
            try:
                async with await Talk.open(f"http://127.0.0.1:{port}") as talk:
                    return await talk.ask(ask)
            except (OSError, NoAnswer):
                return None

        # From its first line on it is looked at closely: a small model is loaded in a moment.
        await until(20.0, "a first line", begun)
        return await until(20.0, "the port to answer", first)
    finally:
        await process.end(2.0)
        process.output.close()


def _is_loading(answer: Answer) -> None:
    if answer.status != 503:
        raise TooLate(f"the model was loaded before the port had answered: status {answer.status}")


async def loading_is_503(own: OwnProcess) -> None:
    """While the model loads a route answers 503 `Loading model`, keys in that order, and closes."""
    answer = await while_loading(own, get("/props"))
    _is_loading(answer)
    expect(answer.json, _LOADING)
    expect(list(answer.json["error"]), ["message", "type", "code"], "the keys of the error")
    expect(answer.header("Connection"), "close", "the header Connection")


async def loading_health(own: OwnProcess) -> None:
    """While the model loads /health is 503 too."""
    answer = await while_loading(own, get("/health"))
    _is_loading(answer)
    expect(answer.json, _LOADING)


async def loading_before_the_key(own: OwnProcess) -> None:
    """The 503 of a load comes before the check of the key."""
    answer = await while_loading(own, get("/props"), "--api-key", "k")
    if answer.status == 401:
        raise TooLate("the model was loaded before the port had answered")
    _is_loading(answer)


async def term_when_idle(own: OwnProcess) -> None:
    """SIGTERM to an idle server ends it with 0, and is logged."""
    async with own.running(own.usual()) as running:
        running.process.send(signal.SIGTERM)
        ended = await own.ended(running.process)
    expect(ended.status, 0, "the exit status")
    demand("cleaning up before exit..." in ended.log, f"its end is not in its log: {ended.log[-200:]!r}")


async def int_when_idle(own: OwnProcess) -> None:
    """SIGINT to an idle server ends it with 0."""
    async with own.running(own.usual()) as running:
        running.process.send(signal.SIGINT)
        ended = await own.ended(running.process)
    expect(ended.status, 0, "the exit status")


async def term_while_streaming(own: OwnProcess) -> None:
    """SIGTERM ends a server with a stream open, with 0 and the stream cut without its end."""
    async with own.running(own.usual("--sse-ping-interval", "1")) as running:
        body = completion([400, 401], LONG_REPLY, stream=True)
        async with await Talk.open(running.target.url) as talk:
            await talk.send(post("/completion", body).encoded())
            await talk.read_head()
            await talk.chunk()
            running.process.send(signal.SIGTERM)
            rest = await talk.ended(_CUT_S)
        ended = await own.ended(running.process)
    if b'"stop":true' in rest:
        raise TooLate("the stream had ended before the signal came")
    demand(not rest.endswith(b"0\r\n\r\n"), "the cut stream has its last chunk")
    expect(ended.status, 0, "the exit status")


async def listens_before_loading(own: OwnProcess) -> None:
    """The log says `model loaded` and then `listening on` with the port that --port 0 chose."""
    async with own.running(own.usual()) as running:
        log = running.process.output.path.read_text(errors="replace")
        demand(0 < log.find("model loaded") < log.find("listening on http://127.0.0.1:"), f"it wrote {log[-300:]!r}")
        answer = await running.target.ask(get("/health"))
        expect(answer.status, 200, "the status")


CLAUSES: tuple[Clause, ...] = probed(
    "1",
    unknown_flag,
    no_value,
    bad_number,
    no_folder,
    no_model,
    no_gguf,
    port_in_use,
    says_version,
    loading_is_503,
    loading_health,
    loading_before_the_key,
    term_when_idle,
    int_when_idle,
    term_while_streaming,
    listens_before_loading,
    setting=OWN,
)
