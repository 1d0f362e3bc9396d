"""llama-server's command line, as far as a router or a person at a shell may use it, and the fake's own flags.

One table. Unknown flags are refused, as the real server refuses them: a fake that swallows a typo proves nothing.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from fakes.builds import build_of
from fakes.cache_types import TYPE_IDS
from fakes.pace import NO_JITTER, Jitter, read_jitter


class FlagError(Exception):
    """The command line is wrong. The message is all that goes to stderr; the exit status is 1."""


@dataclass(frozen=True, slots=True)
class Options:
    """Every value in force."""

    model: str = "toy"
    host: str = "127.0.0.1"
    port: int = 8080
    ctx_size: int = 0
    parallel: int = -1
    kv_unified: bool | None = None
    slot_save_path: str | None = None
    slots: bool = True
    metrics: bool = False
    props: bool = False
    alias: str | None = None
    api_keys: tuple[str, ...] = ()
    cache_ram: int = 8192
    cache_idle_slots: bool = True
    slot_prompt_similarity: float = 0.1
    cache_prompt: bool = True
    n_predict: int = -1
    batch_size: int = 2048
    seed: int = -1
    temperature: float = 0.8
    top_k: int = 40
    top_p: float = 0.95
    min_p: float = 0.05
    repeat_penalty: float = 1.0
    cache_type_k: str = "f16"
    cache_type_v: str = "f16"
    ignore_eos: bool = False
    context_shift: bool = False
    sse_ping_interval: int = 30
    cors_origins: str = "*"
    cors_methods: str = "GET, POST, DELETE, OPTIONS"
    cors_headers: str = "*"
    api_prefix: str = ""
    timeout: int = 3600
    verbosity: int = 3
    log_file: str | None = None
    log_disable: bool = False
    ssl_key_file: str | None = None
    ssl_cert_file: str | None = None
    version: bool = False
    help: bool = False
    journal: str | None = None
    control: str | None = None
    faults: tuple[str, ...] = ()
    prefill_tps: float = 0.0
    decode_tps: float = 0.0
    load_seconds: float = 0.0
    slow_down: float = 0.0
    jitter: Jitter = NO_JITTER
    jitter_seed: int = 1
    fake_version: str = "b11434"


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag in all its spellings. `kind` says how its value is read; `ignored` ones change nothing here."""

    names: tuple[str, ...]
    kind: str
    into: str | None = None
    value: Any = None
    env: str | None = None
    shown: str = field(default="", kw_only=True)


_REAL = (
    Flag(("-m", "--model"), "text", "model", env="LLAMA_ARG_MODEL", shown="FNAME"),
    Flag(("--host",), "text", "host", env="LLAMA_ARG_HOST", shown="HOST"),
    Flag(("--port",), "port", "port", env="LLAMA_ARG_PORT", shown="PORT"),
    Flag(("-c", "--ctx-size"), "count", "ctx_size", env="LLAMA_ARG_CTX_SIZE", shown="N"),
    Flag(("-np", "--parallel"), "whole", "parallel", env="LLAMA_ARG_N_PARALLEL", shown="N"),
    Flag(("-kvu", "--kv-unified"), "set", "kv_unified", True, "LLAMA_ARG_KV_UNIFIED"),
    Flag(("-no-kvu", "--no-kv-unified"), "set", "kv_unified", False),
    Flag(("--slot-save-path",), "folder", "slot_save_path", env="LLAMA_ARG_SLOT_SAVE_PATH", shown="PATH"),
    Flag(("--slots",), "set", "slots", True, "LLAMA_ARG_ENDPOINT_SLOTS"),
    Flag(("--no-slots",), "set", "slots", False),
    Flag(("--metrics",), "set", "metrics", True, "LLAMA_ARG_ENDPOINT_METRICS"),
    Flag(("--props",), "set", "props", True, "LLAMA_ARG_ENDPOINT_PROPS"),
    Flag(("-a", "--alias"), "text", "alias", env="LLAMA_ARG_ALIAS", shown="STRING"),
    Flag(("--api-key",), "keys", "api_keys", env="LLAMA_API_KEY", shown="KEY"),
    Flag(("--api-key-file",), "key-file", "api_keys", shown="FNAME"),
    Flag(("-cram", "--cache-ram"), "whole", "cache_ram", env="LLAMA_ARG_CACHE_RAM", shown="N"),
    Flag(("--cache-idle-slots",), "set", "cache_idle_slots", True, "LLAMA_ARG_CACHE_IDLE_SLOTS"),
    Flag(("--no-cache-idle-slots",), "set", "cache_idle_slots", False),
    Flag(("-sps", "--slot-prompt-similarity"), "fraction", "slot_prompt_similarity", shown="SIMILARITY"),
    Flag(("--cache-prompt",), "set", "cache_prompt", True, "LLAMA_ARG_CACHE_PROMPT"),
    Flag(("--no-cache-prompt",), "set", "cache_prompt", False),
    Flag(("-n", "--predict", "--n-predict"), "whole", "n_predict", env="LLAMA_ARG_N_PREDICT", shown="N"),
    Flag(("-b", "--batch-size"), "count", "batch_size", env="LLAMA_ARG_BATCH", shown="N"),
    Flag(("-s", "--seed"), "whole", "seed", shown="SEED"),
    Flag(("--temp", "--temperature"), "fraction", "temperature", shown="N"),
    Flag(("--top-k",), "whole", "top_k", shown="N"),
    Flag(("--top-p",), "fraction", "top_p", shown="N"),
    Flag(("--min-p",), "fraction", "min_p", shown="N"),
    Flag(("--repeat-penalty",), "fraction", "repeat_penalty", shown="N"),
    Flag(("-ctk", "--cache-type-k"), "cache-type", "cache_type_k", env="LLAMA_ARG_CACHE_TYPE_K", shown="TYPE"),
    Flag(("-ctv", "--cache-type-v"), "cache-type", "cache_type_v", env="LLAMA_ARG_CACHE_TYPE_V", shown="TYPE"),
    Flag(("--ignore-eos",), "set", "ignore_eos", True),
    Flag(("--context-shift",), "set", "context_shift", True, "LLAMA_ARG_CONTEXT_SHIFT"),
    Flag(("--no-context-shift",), "set", "context_shift", False),
    Flag(("--sse-ping-interval",), "whole", "sse_ping_interval", env="LLAMA_ARG_SSE_PING_INTERVAL", shown="N"),
    Flag(("--cors-origins",), "text", "cors_origins", env="LLAMA_ARG_CORS_ORIGINS", shown="ORIGINS"),
    Flag(("--cors-methods",), "text", "cors_methods", env="LLAMA_ARG_CORS_METHODS", shown="METHODS"),
    Flag(("--cors-headers",), "text", "cors_headers", env="LLAMA_ARG_CORS_HEADERS", shown="HEADERS"),
    Flag(("--api-prefix",), "text", "api_prefix", env="LLAMA_ARG_API_PREFIX", shown="PREFIX"),
    Flag(("-to", "--timeout"), "count", "timeout", env="LLAMA_ARG_TIMEOUT", shown="N"),
    Flag(("-lv", "--verbosity", "--log-verbosity"), "whole", "verbosity", env="LLAMA_LOG_VERBOSITY", shown="N"),
    Flag(("-v", "--verbose"), "set", "verbosity", 10),
    Flag(("--log-file",), "text", "log_file", env="LLAMA_LOG_FILE", shown="FNAME"),
    Flag(("--log-disable",), "set", "log_disable", True),
    Flag(("--ssl-key-file",), "file", "ssl_key_file", env="LLAMA_ARG_SSL_KEY_FILE", shown="FNAME"),
    Flag(("--ssl-cert-file",), "file", "ssl_cert_file", env="LLAMA_ARG_SSL_CERT_FILE", shown="FNAME"),
    Flag(("--version",), "set", "version", True),
    Flag(("-h", "--help", "--usage"), "set", "help", True),
)
_OWN = (
    Flag(("--journal",), "text", "journal", env="FAKE_JOURNAL", shown="FILE"),
    Flag(("--control",), "text", "control", env="FAKE_CONTROL", shown="SOCKET"),
    Flag(("--fault",), "more", "faults", shown="NAME[=VALUE][,only=N][,p=0.3][,seed=7]"),
    Flag(("--prefill-tps",), "fraction", "prefill_tps", shown="TOKENS_PER_SECOND"),
    Flag(("--decode-tps",), "fraction", "decode_tps", shown="TOKENS_PER_SECOND"),
    Flag(("--load-seconds",), "fraction", "load_seconds", shown="SECONDS"),
    Flag(("--slow-down",), "fraction", "slow_down", shown="SHARE"),
    Flag(("--jitter",), "jitter", "jitter", shown="KIND:SIZE"),
    Flag(("--jitter-seed",), "whole", "jitter_seed", shown="SEED"),
    Flag(("--fake-version",), "build", "fake_version", shown="BUILD"),
)
_IGNORED = (
    Flag(("-t", "--threads"), "whole", shown="N"),
    Flag(("-tb", "--threads-batch"), "whole", shown="N"),
    Flag(("--threads-http",), "whole", shown="N"),
    Flag(("-ub", "--ubatch-size"), "count", shown="N"),
    Flag(("-ngl", "--gpu-layers", "--n-gpu-layers"), "text", shown="N"),
    Flag(("-fa", "--flash-attn"), "text", shown="[on|off|auto]"),
    Flag(("--cache-reuse",), "count", shown="N"),
    Flag(("--chat-template", "--chat-template-file"), "text", shown="TEMPLATE"),
    Flag(("--reasoning-format",), "text", shown="FORMAT"),
    Flag(("--device", "-dev"), "text", shown="DEVICES"),
    Flag(("--jinja", "--no-jinja", "--no-webui", "--no-ui", "--webui", "--ui", "--mlock", "--mmap"), "none"),
    Flag(("--no-mmap", "--warmup", "--no-warmup", "-cb", "--cont-batching", "-nocb", "--no-cont-batching"), "none"),
    Flag(("-nr", "--no-repack", "--repack", "--cors-credentials", "--no-cors-credentials"), "none"),
    Flag(("--log-colors", "--log-prefix", "--log-timestamps"), "none"),
    Flag(("--swa-full", "--no-perf", "--offline"), "none"),
)
FLAGS = (*_REAL, *_OWN, *_IGNORED)
_BY_NAME = {name: flag for flag in FLAGS for name in flag.names}


def parse_flags(argv: Sequence[str], environ: Mapping[str, str] = os.environ) -> Options:
    """The options in force: the command line over the environment over the defaults. FlagError: see its message."""
    values: dict[str, Any] = {}
    for flag in FLAGS:
        if flag.env is not None and flag.into is not None and environ.get(flag.env):
            _apply(values, flag, flag.env, environ[flag.env])
    words = list(argv)
    while words:
        name = words.pop(0)
        spelled = "--" + name[2:].replace("_", "-") if name.startswith("--") else name
        flag = _BY_NAME.get(spelled)  # type: ignore[assignment]
        if flag is None:
            raise FlagError(f"error: invalid argument: {name}")
        if flag.kind in ("set", "none"):
            if flag.into is not None:
                values[flag.into] = flag.value
            continue
        if not words:
            raise _bad(flag, name, "expected value for argument")
        _apply(values, flag, name, words.pop(0))
    return replace(Options(), **values)


def help_text() -> str:
    """Every flag, in three parts, with the variable that sets it too."""
    parts = (
        ("llama-server's flags", _REAL),
        ("the fake's own", _OWN),
        ("taken, and without effect here", _IGNORED),
    )
    lines = ["usage: kvgate fake decoder [flags]"]
    for title, flags in parts:
        lines += ["", f"{title}:", *(_help_line(flag) for flag in flags)]
    return "\n".join([*lines, "", "`kvgate faults decoder` lists what --fault takes."])


def _help_line(flag: Flag) -> str:
    line = f"  {', '.join(flag.names)} {flag.shown}".rstrip()
    return f"{line}  (env: {flag.env})" if flag.env else line


def _apply(values: dict[str, Any], flag: Flag, name: str, text: str) -> None:
    if flag.kind == "set":
        if text in ("1", "on", "true", "enabled"):
            values[str(flag.into)] = flag.value
        return
    try:
        value = _read(flag.kind, text)
    except FlagError as error:
        raise _bad(flag, name, str(error)) from None
    if flag.into is not None:
        values[flag.into] = (*values.get(flag.into, ()), value) if flag.kind == "more" else value


def _read(kind: str, text: str) -> Any:
    if kind in ("whole", "count", "port"):
        return _whole(kind, text)
    if kind == "fraction":
        return _fraction(text)
    if kind == "folder":
        if not os.path.isdir(text):
            raise FlagError(f"not a directory: {text}")
        return text if text.endswith("/") else text + "/"
    if kind == "file" and not os.path.isfile(text):
        raise FlagError(f"failed to open file '{text}'")
    if kind == "keys":
        return tuple(filter(None, text.split(",")))
    if kind == "key-file":
        return _key_file(text)
    if kind in ("build", "jitter"):
        return _own(kind, text)
    if kind == "cache-type" and text not in TYPE_IDS:
        raise FlagError(f"Unsupported cache type: {text}")
    return text


def _whole(kind: str, text: str) -> int:
    digits = text[1:] if text.startswith("-") else text
    if not digits.isdecimal() or not digits.isascii() or len(digits) > 10:
        raise FlagError("stoi")
    value = int(text)
    if (kind == "count" and value < 0) or (kind == "port" and not 0 <= value <= 65535):
        raise FlagError(f"{value} is out of range")
    return value


def _fraction(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise FlagError("stof") from None
    if not 0 <= value < 1e9:
        raise FlagError(f"{text} is out of range")
    return value


def _own(kind: str, text: str) -> Any:
    try:
        if kind == "jitter":
            return read_jitter(text)
        build_of(text)
        return text
    except ValueError as error:
        raise FlagError(str(error)) from None


def _key_file(path: str) -> tuple[str, ...]:
    try:
        with open(path, encoding="utf-8") as file:
            return tuple(line.strip() for line in file if line.strip())
    except OSError:
        raise FlagError(f"failed to open file '{path}'") from None


def _bad(flag: Flag, name: str, why: str) -> FlagError:
    usage = f"{', '.join(flag.names)} {flag.shown}".rstrip()
    return FlagError(f'error while handling argument "{name}": {why}\n\nusage:\n{usage}')
