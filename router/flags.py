"""The command line, read into a `Config`. Mistyped flags get the nearest spelling, on one line."""

from __future__ import annotations

import argparse
import difflib
import math
import os
import shlex
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import NoReturn

from router.config import CACHE_OFF, CACHE_UNKNOWN, ChildDecoder, Config, Timeouts, Tls, validate
from router.errors import ConfigError

COMMANDS = ("serve", "check-config")
KV_SHARE_VARIABLE = "ONEBIT_KV_SHARE"
_ON_OFF = {
    "1": True,
    "true": True,
    "on": True,
    "yes": True,
    "0": False,
    "false": False,
    "off": False,
    "no": False,
    "": False,
}
_DEFAULTS = Config()
_TIMEOUT_FLAGS = ("share", "provider", "restore", "first_byte", "stream", "request", "drain")


@dataclass(frozen=True, slots=True)
class Invocation:
    """What was asked for: one of `COMMANDS`, and with what."""

    command: str
    config: Config


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ConfigError(message)


class _Version(argparse.Action):
    """Looks the version up only when it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        from importlib.metadata import version

        print(f"kvgate-router {version('kvgate')}")
        parser.exit(0)


def read_command_line(argv: Sequence[str], environment: Mapping[str, str]) -> Invocation:
    """ConfigError: anything that cannot be served. A flag beats the environment."""
    words = list(argv)
    extra: tuple[str, ...] | None = None
    if "--" in words:
        at = words.index("--")
        words, extra = words[:at], tuple(words[at + 1 :])
    command = words.pop(0) if words and not words[0].startswith("-") else "serve"
    if command not in COMMANDS:
        raise ConfigError(f"unknown command {command!r}{_near(command, COMMANDS)}; known are {', '.join(COMMANDS)}")
    parser = build_parser()
    values, unknown = parser.parse_known_args(words)
    if unknown:
        known = [flag for action in parser._actions for flag in action.option_strings]
        raise ConfigError(f"unknown argument {unknown[0]!r}{_near(unknown[0].partition('=')[0], known)}")
    return Invocation(command, validate(_config(values, extra, environment)))


def _near(word: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    return f", did you mean {near[0]!r}?" if near else ""


def build_parser() -> argparse.ArgumentParser:
    """The flags of both commands."""
    parser = _Parser(
        prog="kvgate-router",
        usage="kvgate-router [serve|check-config] (--decoder URL ... | --llama-server PATH -m MODEL [-- ARGS]) [flags]",
        description="A hybrid prefill/decode router for llama-server.",
        epilog="Exit statuses: 0 ended on a signal, everything served; 1 could not start or go on, or requests were "
        "cut at the end; 2 bad flags or configuration.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="say which version this is")
    _add_decoder_flags(parser)
    _add_handoff_flags(parser)
    _add_security_flags(parser)
    _add_limit_flags(parser)
    return parser


def _add_decoder_flags(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("listener and decoders").add_argument
    add("--host", default=_DEFAULTS.host, help="address to listen on (default %(default)s)")
    add("--port", type=_port, default=_DEFAULTS.port, help="port to listen on, 0 for any (default %(default)s)")
    add("--decoder", nargs="+", action="extend", default=[], metavar="URL", help="a llama-server that runs already")
    add("--llama-server", metavar="PATH", help="start this decoder and end it with the router")
    add("-m", "--model", metavar="MODEL", help="its model")
    add("--alias", metavar="NAME", help="the model's name as clients see it")


def _add_handoff_flags(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("handoff").add_argument
    add("--provider", metavar="CMD", help="command that prefills a prompt, started once per handoff")
    add("--prefill-url", metavar="URL", help="a second llama-server that prefills")
    add("--engine-prefill", metavar="HOST:PORT", help="RPC port of the engine that prefills")
    add("--engine-prefill-url", metavar="URL", help="its HTTP side")
    add(
        "--engine-decode",
        nargs="+",
        action="extend",
        default=[],
        metavar="HOST:PORT",
        help="RPC port of the engine behind each --decoder, in their order",
    )
    add("--provider-concurrency", type=_at_least(1), metavar="N", help="handoffs at a time (default: one per slot)")
    add("--slot-save-path", type=Path, metavar="DIR", help="the folder that the decoders were started with")
    add(
        "--kv-share",
        action=argparse.BooleanOptionalAction,
        default=None,
        help=f"shared route (env {KV_SHARE_VARIABLE}=1)",
    )
    add(
        "--min-prefill-tokens",
        type=_at_least(0),
        default=_DEFAULTS.min_prefill_tokens,
        metavar="N",
        help="hand over only when at least so many tokens are missing (default %(default)s)",
    )
    add(
        "--hold-back",
        type=int,
        choices=(0, 1),
        help="tokens of the prompt left to the decoder (default 1 for --prefill-url)",
    )
    add(
        "--decoder-cache-ram",
        choices=(CACHE_OFF, CACHE_UNKNOWN),
        default=_DEFAULTS.decoder_cache_ram,
        help="0: every --decoder was started with --cache-ram 0; else handoffs are unverified (default %(default)s)",
    )
    add("--strict", action="store_true", help="refuse a request rather than let the decoder prefill it")


def _add_security_flags(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("security").add_argument
    add("--api-key-file", type=Path, metavar="F", help="keys that clients must send, one a line")
    add("--decoder-api-key-file", type=Path, metavar="F", help="the decoders' key")
    add("--prefill-api-key-file", type=Path, metavar="F", help="the prefill server's key")
    add("--tls-cert", type=Path, metavar="F", help="certificate chain of the listener")
    add("--tls-key", type=Path, metavar="F", help="its key")
    add("--decoder-ca", type=Path, metavar="F", help="authorities to trust for https decoders and prefill server")


def _add_limit_flags(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("limits").add_argument
    add(
        "--max-queue",
        type=_at_least(0),
        default=_DEFAULTS.max_queue,
        metavar="N",
        help="waiting requests (default %(default)s)",
    )
    add(
        "--max-body",
        type=_at_least(1),
        default=_DEFAULTS.max_body,
        metavar="BYTES",
        help="request body (default %(default)s)",
    )
    for name in _TIMEOUT_FLAGS:
        flag = f"--{name.replace('_', '-')}-timeout"
        add(flag, type=_seconds, default=getattr(Timeouts(), name), metavar="S", help="seconds (default %(default)s)")
    add("--log-format", choices=("text", "json"), default=_DEFAULTS.log_format, help="(default %(default)s)")


def _port(word: str) -> int:
    if not (word.isdecimal() and int(word) <= 65535):
        raise argparse.ArgumentTypeError(f"{word!r} is not a port of 0 to 65535")
    return int(word)


def _at_least(low: int) -> Callable[[str], int]:
    def whole(word: str) -> int:
        if not (word.isascii() and word.isdecimal() and int(word) >= low):
            raise argparse.ArgumentTypeError(f"{word!r} is not a whole number of at least {low}")
        return int(word)

    return whole


def _seconds(word: str) -> float:
    try:
        seconds = float(word)
    except ValueError:
        seconds = math.nan
    if not (math.isfinite(seconds) and seconds > 0):
        raise argparse.ArgumentTypeError(f"{word!r} is not a number of seconds above 0")
    return seconds


def _config(values: argparse.Namespace, extra: tuple[str, ...] | None, environment: Mapping[str, str]) -> Config:
    if (values.tls_cert is None) != (values.tls_key is None):
        raise ConfigError("--tls-cert and --tls-key belong together")
    hold_back = values.hold_back
    if hold_back is None:
        hold_back = 1 if values.prefill_url is not None else 0
    timeouts = Timeouts(**{name: getattr(values, f"{name}_timeout") for name in _TIMEOUT_FLAGS})
    taken = {f.name: getattr(values, f.name) for f in fields(Config) if hasattr(values, f.name)}
    taken |= {
        "decoders": tuple(url.rstrip("/") for url in values.decoder),
        "child": _child(values, extra),
        "provider": _command("--provider", values.provider) if values.provider is not None else (),
        "prefill_url": values.prefill_url.rstrip("/") if values.prefill_url is not None else None,
        "engine_prefill_url": values.engine_prefill_url.rstrip("/") if values.engine_prefill_url is not None else None,
        "engine_decode": tuple(values.engine_decode),
        "kv_share": _kv_share(values, environment),
        "hold_back": hold_back,
        "tls": Tls(values.tls_cert, values.tls_key) if values.tls_cert is not None else None,
        "timeouts": timeouts,
    }
    return Config(**taken)


def _kv_share(values: argparse.Namespace, environment: Mapping[str, str]) -> bool:
    if values.kv_share is not None:
        return bool(values.kv_share)
    word = environment.get(KV_SHARE_VARIABLE, "")
    if word.lower() not in _ON_OFF:
        raise ConfigError(f"{KV_SHARE_VARIABLE}={word}: expected 1 or 0")
    # Without a provider the variable means nothing; as a flag that is a contradiction, in an environment it is not.
    return _ON_OFF[word.lower()] and (values.provider is not None or values.prefill_url is not None)


def _child(values: argparse.Namespace, extra: tuple[str, ...] | None) -> ChildDecoder | None:
    if values.llama_server is None:
        if values.model is not None:
            raise ConfigError("-m needs --llama-server")
        if extra is not None:
            raise ConfigError("arguments after -- need --llama-server")
        return None
    if values.model is None:
        raise ConfigError("--llama-server needs -m MODEL")
    return ChildDecoder(_command("--llama-server", values.llama_server), values.model, extra or ())


def _command(flag: str, text: str) -> tuple[str, ...]:
    """A command line as words; a path with blanks in it is one word if it can be run as it stands."""
    if shutil.which(text) is not None:
        return (os.path.abspath(text) if os.sep in text else text,)
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise ConfigError(f"{flag} {text!r}: {error}") from None
    if not words:
        raise ConfigError(f"{flag} is empty")
    return words
