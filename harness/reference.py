"""Plain runs: the same requests on a decoder process of its own, with no handoff. Their replies are the reference.

The same process counts tokens, so that prompts have the size asked for. Results are kept for the session by
everything that shapes them: decoder, model, flags, prompt, request.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import TYPE_CHECKING, Any

import aiohttp

from harness.build_process import free_port, start_build, wait_ready
from harness.clients import Turns, ask, request_body
from harness.decoders import Decoder, start_decoder, start_engine
from harness.errors import HarnessError
from harness.plan import Addresses, Folders, Options, build_argv, build_env, model_of, needs_port
from harness.profiles import Build
from harness.prompts import sized
from harness.record import Plain, read_journal
from harness.scenario import (
    Endpoint,
    EngineSpec,
    Kind,
    NextTurn,
    NoPrompt,
    Prompt,
    RequestSpec,
    SamePrompt,
    Scenario,
    SizedPrompt,
    TextPrompt,
)

if TYPE_CHECKING:
    from harness.session import Session

_PROMPT = "\x00prompt\x00"


@dataclass(frozen=True, slots=True)
class Prepared:
    """A request ready to be sent: its prompt's text and ids, and the plain run where one was asked for."""

    spec: RequestSpec
    prompt: str
    prompt_tokens: tuple[int, ...]
    plain: Plain | None
    before: Turns = ()


@dataclass(slots=True)
class References:
    """Prompts and plain replies of one session."""

    prompts: dict[str, tuple[str, tuple[int, ...]]] = field(default_factory=dict)
    plains: dict[str, Plain] = field(default_factory=dict)


async def prepare(
    session: Session, scenario: Scenario, build: Build, folders: Folders, options: Options, *, plain: bool
) -> tuple[Prepared, ...]:
    """Prompts for every request, and plain replies where `plain`. A decoder is started only for what is not known."""
    wanted = _wanted(scenario, build, options, plain)
    known = session.references
    if all(w.prompt_key in known.prompts and (not w.plain or w.plain_key in known.plains) for w in wanted):
        return _prepared(scenario, wanted, known, plain)
    own = Folders(folders.evidence / "plain", folders.scratch / "plain")
    own.make()
    decoder = await _decoder_of_its_own(session, scenario, build, own, options)
    try:
        async with aiohttp.ClientSession() as http:
            found = await _fill(wanted, known, decoder, http)
    finally:
        how = await decoder.process.end()
        await decoder.process.read_to_end()
        decoder.process.output.close()
    if decoder.journaled:
        _name_ids(found, own)
    if how.killed:
        raise HarnessError("the plain run's decoder did not end when asked to")
    known.plains |= found  # whole, or not at all: what was cut short is made again
    return _prepared(scenario, wanted, known, plain)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """`plain`: its plain run is asked for, or the next turn of its conversation is. `follows` is the turn before."""

    spec: RequestSpec
    prompt: Prompt
    rng: Random
    prompt_key: str
    plain_key: str
    plain: bool
    follows: _Wanted | None = None

    def before(self, known: References, found: Mapping[str, Plain]) -> Turns:
        """What was said before, once the turns before it have their plain replies."""
        if self.follows is None:
            return ()
        key = self.follows.plain_key
        reply = (found[key] if key in found else known.plains[key]).reply
        return (*self.follows.before(known, found), (known.prompts[self.follows.prompt_key][0], reply.text))


async def _decoder_of_its_own(
    session: Session, scenario: Scenario, build: Build, own: Folders, options: Options
) -> Decoder:
    """Same build and flags as the decoder of the run, without its faults."""
    if scenario.under_test is Kind.ROUTER:
        if scenario.engine_decode is not None:
            plain = EngineSpec(model=scenario.engine_decode.model)
            engine = await start_engine(session, plain, "decoder", own, scenario.seed)
            return Decoder(engine.process, engine.url, plain.model, journaled=True)
        spec = replace(scenario.decoder, faults=())
        return await start_decoder(session, spec, "decoder", own, options, scenario.seed)
    addresses = Addresses(port=free_port() if needs_port(build) else 0, model=model_of(scenario, options))
    argv = build_argv(scenario, build, own, addresses, options)
    ready = build.profile.ready
    process = await start_build(session.guardian, argv, build_env(scenario, build, own, addresses, options), ready, own)
    url = await wait_ready(process, ready, addresses.port, options.ready_s)
    return Decoder(process, url, addresses.model, journaled=False)


def _wanted(scenario: Scenario, build: Build, options: Options, plain: bool) -> list[_Wanted]:
    followed = {spec.prompt.follows for spec in scenario.requests if isinstance(spec.prompt, NextTurn)}
    decoder = replace(scenario.decoder, faults=())
    engine = scenario.engine_decode.model if scenario.engine_decode is not None else None
    shaping = f"{decoder!r} {engine!r} {options.model!r} {options.decoder_args!r} {options.program('decoder')!r}"
    if scenario.under_test is not Kind.ROUTER:
        shaping += f" {build!r}"
    found: dict[str, _Wanted] = {}
    for number, spec in enumerate(scenario.requests):
        if isinstance(spec.prompt, NoPrompt):
            continue
        follows = found[spec.prompt.follows] if isinstance(spec.prompt, NextTurn) else None
        plain_body = json.dumps(_plain_body(spec, _PROMPT), sort_keys=True)
        if isinstance(spec.prompt, SamePrompt):
            first = found[spec.prompt.same_as]
            prompt, prompt_key, follows = first.prompt, first.prompt_key, first.follows
        else:
            template = json.dumps({k: v for k, v in spec.body.items() if k not in _NOT_IN_TEMPLATE}, sort_keys=True)
            prompt = spec.prompt
            prompt_key = f"{shaping} {prompt!r} {number} {scenario.seed} {spec.endpoint} {template}"
            prompt_key += f" after ({follows.plain_key})" if follows is not None else ""
        rng = Random(f"{scenario.seed}/{number}")
        plain_key = f"{prompt_key} {spec.endpoint} {plain_body}"
        needed = plain or spec.name in followed
        found[spec.name] = _Wanted(spec, prompt, rng, prompt_key, plain_key, needed, follows)
    return list(found.values())


_NOT_IN_TEMPLATE = ("max_tokens", "temperature", "stream", "logprobs", "top_logprobs")


def _prepared(scenario: Scenario, wanted: Sequence[_Wanted], known: References, plain: bool) -> tuple[Prepared, ...]:
    by_name = {w.spec.name: w for w in wanted}
    return tuple(
        Prepared(
            spec,
            *known.prompts[w.prompt_key],
            known.plains[w.plain_key] if plain else None,
            w.before(known, {}),
        )
        if (w := by_name.get(spec.name)) is not None
        else Prepared(spec, "", (), None)
        for spec in scenario.requests
    )


def _plain_body(spec: RequestSpec, prompt: str, before: Turns = ()) -> dict[str, Any]:
    """Not streamed and with nothing reused: the reply depends on neither."""
    return request_body(replace(spec, stream=False), prompt, before) | {"cache_prompt": False}


async def _fill(
    wanted: Sequence[_Wanted], known: References, decoder: Decoder, http: aiohttp.ClientSession
) -> dict[str, Plain]:
    """The plain runs that were not known."""
    found: dict[str, Plain] = {}
    for each in wanted:
        before = each.before(known, found)
        if each.prompt_key not in known.prompts:
            known.prompts[each.prompt_key] = await _make_prompt(each, before, decoder.url, http)
        if each.plain and each.plain_key not in known.plains and each.plain_key not in found:
            prompt, ids = known.prompts[each.prompt_key]
            body = _plain_body(each.spec, prompt, before)
            reply = await ask(http, decoder.url + each.spec.endpoint, body, each.spec.deadline_s)
            found[each.plain_key] = Plain(ids, reply, reply.token_ids)
    return found


async def _make_prompt(
    wanted: _Wanted, before: Turns, url: str, http: aiohttp.ClientSession
) -> tuple[str, tuple[int, ...]]:
    async def count(text: str) -> tuple[int, ...]:
        return await _tokenized(http, url, wanted.spec, text, before)

    match wanted.prompt:
        case SizedPrompt(tokens):
            return await sized(tokens, wanted.rng, count)
        case TextPrompt(text) | NextTurn(_, text):
            return text, await count(text)
        case SamePrompt() | NoPrompt():
            raise AssertionError("a prompt that repeats another has that other's key")


async def _tokenized(
    http: aiohttp.ClientSession, url: str, spec: RequestSpec, text: str, before: Turns
) -> tuple[int, ...]:
    """The ids that the decoder evaluates for this request: template first for a chat, then the special tokens."""
    if spec.endpoint is Endpoint.CHAT:
        templated = await _posted(http, f"{url}/apply-template", request_body(spec, text, before))
        text = str(templated["prompt"])
    else:
        text = str(request_body(spec, text, before)["prompt"])
    asked = {"content": text, "add_special": True, "parse_special": True}
    return tuple(int(token) for token in (await _posted(http, f"{url}/tokenize", asked))["tokens"])


async def _posted(http: aiohttp.ClientSession, url: str, body: Mapping[str, Any]) -> dict[str, Any]:
    reply = await ask(http, url, body, deadline_s=30)
    if reply.status != 200 or not isinstance(reply.body, dict):
        told = reply.failure or reply.error or f"status {reply.status}"
        raise HarnessError(f"the plain run's decoder cannot count tokens: {url}: {told}")
    return reply.body


def _name_ids(found: dict[str, Plain], folders: Folders) -> None:
    """Ids from the fake's journal, where the reply itself carries none."""
    journal = read_journal(folders.evidence / "decoder.jsonl")
    if journal.incomplete:
        raise HarnessError(f"the plain run cannot be trusted: {journal.incomplete}")
    completions = [event.fields for event in journal.events if event.event == "completion"]
    answered = [key for key, plain in found.items() if plain.reply.status == 200]
    if len(completions) != len(answered):
        raise HarnessError(f"the plain run's journal has {len(completions)} completions for {len(answered)} requests")
    for key, fields in zip(answered, completions, strict=True):
        prompt_tokens, token_ids = tuple(fields["prompt_tokens"]), tuple(fields["predicted"])
        found[key] = replace(found[key], prompt_tokens=prompt_tokens, token_ids=token_ids)
