"""Section 2: what the command line changes."""

from __future__ import annotations

from harness.conform.clause import Clause, demand, expect, probed, refused, row
from harness.conform.own_process import OwnProcess
from harness.conform.setting import OWN, PREFIX
from harness.conform.target import Target, completion
from harness.conform.wire_client import get, post

_ACCEPTED = [
    "-t",
    "1",
    "--threads-http",
    "2",
    "-to",
    "60",
    "-ngl",
    "0",
    "-fa",
    "off",
    "-ctk",
    "f16",
    "-ctv",
    "f16",
    "--no-warmup",
    "--no-mmap",
    "-cb",
    "--no-webui",
    "--jinja",
    "--sse-ping-interval",
    "5",
    "-ub",
    "128",
    "-b",
    "256",
    "--no-slots",
    "--no-cache-idle-slots",
    "--cache-reuse",
    "0",
    "--no-context-shift",
    "--cors-methods",
    "GET",
    "--cors-headers",
    "X",
    "-lv",
    "3",
    "-nr",
]


async def equals_sign(own: OwnProcess) -> None:
    """A value is the next word: --port=1 is an unknown flag."""
    ended = await own.end_of(own.usual("--port=1"))
    expect(ended.status, 1, "the exit status")
    demand("invalid argument: --port=1" in ended.log, f"it wrote {ended.log[-200:]!r}")


async def underscores(own: OwnProcess) -> None:
    """Underscores and hyphens are the same in long names, and a context is cut into steps of 256 a slot."""
    async with own.running(own.usual("--ctx_size", "300")) as running:
        expect((await running.target.props())["default_generation_settings"]["n_ctx"], 512, "n_ctx")


async def environment(own: OwnProcess) -> None:
    """LLAMA_ARG_ variables set defaults."""
    async with own.running(own.usual(), LLAMA_ARG_ALIAS="by-variable") as running:
        expect((await running.target.props())["model_alias"], "by-variable", "model_alias")


async def line_beats_environment(own: OwnProcess) -> None:
    """The command line beats LLAMA_ARG_ variables."""
    async with own.running(own.usual("-a", "by-flag"), LLAMA_ARG_ALIAS="by-variable") as running:
        expect((await running.target.props())["model_alias"], "by-flag", "model_alias")


async def accepted(own: OwnProcess) -> None:
    """The flags that change nothing on the wire are accepted."""
    async with own.running(own.usual(*_ACCEPTED)) as running:
        expect((await running.target.ask(get("/health"))).status, 200, "the status of /health")
        expect((await running.target.ask(get("/"))).status, 404, "the status of / without the web UI")


async def auto_slots(t: Target) -> None:
    """Without -np there are four slots over one pool, each with the whole context."""
    expect([slot["n_ctx"] for slot in await t.slots()], [1024] * 4, "n_ctx of the slots")


async def parts(t: Target) -> None:
    """With -np N each slot has its N-th of the context."""
    expect([slot["n_ctx"] for slot in await t.slots()], [1024] * 2, "n_ctx of the slots")


async def save_path(t: Target) -> None:
    """A slot-save path gets its missing slash."""
    answer = await t.action(0, "save", {"filename": "slash.bin"})
    expect(answer.status, 200, "the status")
    demand(t.saved("slash.bin").is_file(), "the file is not in the folder")


async def defaults(t: Target) -> None:
    """--temp and --seed show in default_generation_settings."""
    params = (await t.props())["default_generation_settings"]["params"]
    expect(params, {"temperature": 0.5, "seed": 7}, "params")


async def n_predict(t: Target) -> None:
    """-n is the default of n_predict."""
    expect(await t.json(post("/completion", {"prompt": [400, 401]})), {"tokens_predicted": 3, "stop_type": "limit"})


async def no_cache_prompt(t: Target) -> None:
    """--no-cache-prompt is the default of cache_prompt."""
    prompt = t.prompt(20)
    for _ in range(2):
        answer = await t.complete(prompt, id_slot=0)
    expect(answer["timings"], {"cache_n": 0, "prompt_n": 20}, "timings")


async def no_similarity(t: Target) -> None:
    """--slot-prompt-similarity 0 leaves the choice to the oldest slot."""
    prompt = t.prompt(20)
    served = [(await t.complete(prompt, cache_prompt=True))["id_slot"] for _ in range(2)]
    demand(served[0] != served[1], f"both went to slot {served[0]}")


async def ignores_end(t: Target) -> None:
    """--ignore-eos is the default of ignore_eos."""
    answer = await t.json(post("/completion", {"prompt": [400, 401]}))
    expect(answer["generation_settings"]["ignore_eos"], True, "ignore_eos")


async def rounded_up(t: Target) -> None:
    """A slot's share of a small context is rounded up to 256."""
    expect([slot["n_ctx"] for slot in await t.slots()], [256, 256], "n_ctx of the slots")


async def outside_prefix(t: Target) -> None:
    """With --api-prefix there is nothing outside the prefix."""
    t.setting, inside = type(t.setting)(()), t.setting
    try:
        expect((await t.ask(get("/health"))).status, 404, "the status of /health")
        expect((await t.ask(get(f"{PREFIX}/health"))).status, 200, "the status below the prefix")
    finally:
        t.setting = inside


async def shifts(t: Target) -> None:
    """With --context-shift a reply goes on in a full slot, behind half of what was there."""
    answer = await t.complete(t.prompt(8), 400)
    expect(answer, {"tokens_predicted": 400, "truncated": True, "stop_type": "limit", "tokens_cached": 153})


async def shifts_as_asked(t: Target) -> None:
    """n_keep says how many of the first tokens stay, n_discard how many behind them go."""
    mark = t.mark()
    answer = await t.complete(t.prompt(8), 300, n_keep=10, n_discard=20)
    expect(answer, {"tokens_predicted": 300, "truncated": True, "tokens_cached": 247})
    await t.logged(mark, r"W slot .* slot context shift, n_keep = 10, n_left = 245, n_discard = 20")


async def too_long_to_shift(t: Target) -> None:
    """A prompt that is too long is refused with --context-shift, too."""
    answer = await t.ask(post("/completion", completion(t.prompt(256), 1)))
    expect(answer.json, {"error": {"type": "exceed_context_size_error", "n_prompt_tokens": 256}})


CLAUSES: tuple[Clause, ...] = (
    *probed("2", equals_sign, underscores, environment, line_beats_environment, accepted, setting=OWN),
    *probed("2", auto_slots, setting="auto"),
    *probed("2", parts, save_path),
    *probed("2", defaults, n_predict, no_cache_prompt, no_similarity, ignores_end, rounded_up, setting="defaults"),
    *probed("2", outside_prefix, shifts, shifts_as_asked, too_long_to_shift, setting="defaults"),
    refused(
        "2",
        "--no-slots turns GET /slots off",
        get("/slots"),
        501,
        "not_supported_error",
        "This server does not support slots endpoint. Start it with `--slots`",
        setting="keys",
    ),
    refused(
        "2",
        "Without --metrics there is no GET /metrics",
        get("/metrics"),
        501,
        "not_supported_error",
        "This server does not support metrics endpoint. Start it with `--metrics`",
        setting="keys",
    ),
    refused(
        "2",
        "Without --props there is no POST /props",
        post("/props", {}),
        501,
        "not_supported_error",
        str,
        setting="keys",
    ),
    row("2", "GET /props works without --props", get("/props"), like={"total_slots": 1}, setting="keys"),
    row("2", "With --props POST /props answers success", post("/props", {}), like={"success": True}),
    row(
        "2",
        "Of several aliases the first of the alphabet names the model",
        get("/v1/models"),
        like={"data": [{"id": "alpha", "aliases": ["alpha", "zeta"]}], "models": [{"name": "alpha"}]},
        setting="keys",
    ),
    row("2", "GET /props shows that alias", get("/props"), like={"model_alias": "alpha"}, setting="keys"),
)
