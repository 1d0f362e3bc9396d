"""llama-server's command line in front of the `xllamacpp` wheel: same flags, same ready line, same endings.

Run by the Python of the environment that holds the wheel, so it imports the standard library and `xllamacpp`
and nothing of ours. The server itself, its HTTP and its log lines are the wheel's; this file only turns flags
into its parameters and signals into its end. A flag that the table does not know is refused as llama-server
refuses it. Settings are named differently from one version of the wheel to the next, so an entry may give
several field names: the first that this version has is set.
"""

from __future__ import annotations

import signal
import socket
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, NoReturn

VERBOSE = 2**31 - 1
AUTO_SLOTS = 4
ENDING = (signal.SIGTERM, signal.SIGINT)


class BadArgument(Exception):
    """What llama-server says about a bad command line, whole."""


@dataclass(frozen=True)
class Option:
    """A flag with a value: `convert` reads the word after it and raises ValueError or KeyError if it cannot."""

    names: tuple[str, ...]
    fields: tuple[str, ...]
    convert: Callable[[str], Any]


@dataclass(frozen=True)
class Switch:
    """A flag without a value."""

    names: tuple[str, ...]
    fields: tuple[str, ...]
    value: Any


def _whole(word: str) -> int:
    try:
        return int(word)
    except ValueError:
        raise ValueError(f"not a whole number: {word}") from None


def _decimal(word: str) -> float:
    try:
        return float(word)
    except ValueError:
        raise ValueError(f"not a number: {word}") from None


def _directory(word: str) -> str:
    if not Path(word).is_dir():
        raise ValueError(f"not a directory: {word}")
    return word if word.endswith("/") else word + "/"


def _text_of_file(word: str) -> str:
    try:
        return Path(word).read_text(encoding="utf-8")
    except OSError as err:
        raise ValueError(f"failed to open file '{word}': {err.strerror}") from err


def _words(word: str) -> list[str]:
    return [part for part in word.split(",") if part]


def _flash_attention(word: str) -> Any:
    from xllamacpp import llama_flash_attn_type

    name = {"on": "ENABLED", "1": "ENABLED", "off": "DISABLED", "0": "DISABLED", "auto": "AUTO", "-1": "AUTO"}.get(word)
    if name is None:
        raise ValueError(f"unknown value for --flash-attn: '{word}'")
    return getattr(llama_flash_attn_type, f"LLAMA_FLASH_ATTN_TYPE_{name}")


def _cache_type(word: str) -> Any:
    from xllamacpp import ggml_type

    if word not in ("f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "iq4_nl", "q5_0", "q5_1"):
        raise ValueError(f"Unsupported cache type: {word}")
    return getattr(ggml_type, f"GGML_TYPE_{word.upper()}")


def _load_mode(name: str) -> Any:
    """Newer versions have one setting for mmap and mlock, older ones two booleans."""
    import xllamacpp

    modes = getattr(xllamacpp, "llama_load_mode", None)
    return getattr(modes, f"LLAMA_LOAD_MODE_{name}") if modes is not None else name != "NONE"


OPTIONS = (
    Option(("-m", "--model"), ("model.path",), str),
    Option(("-a", "--alias"), ("model_alias",), lambda word: set(_words(word))),
    Option(("--host",), ("hostnames", "hostname"), _words),
    Option(("--port",), ("port",), _whole),
    Option(("-c", "--ctx-size"), ("n_ctx",), _whole),
    Option(("-np", "--parallel"), ("n_parallel",), _whole),
    Option(("-n", "--predict", "--n-predict"), ("n_predict",), _whole),
    Option(("-b", "--batch-size"), ("n_batch",), _whole),
    Option(("-ub", "--ubatch-size"), ("n_ubatch",), _whole),
    Option(("-t", "--threads"), ("cpuparams.n_threads",), _whole),
    Option(("-tb", "--threads-batch"), ("cpuparams_batch.n_threads",), _whole),
    Option(("--threads-http",), ("n_threads_http",), _whole),
    Option(("-to", "--timeout"), ("timeout_read+timeout_write",), _whole),
    Option(("-ngl", "--gpu-layers", "--n-gpu-layers"), ("n_gpu_layers",), _whole),
    Option(("-fa", "--flash-attn"), ("flash_attn_type",), _flash_attention),
    Option(("-ctk", "--cache-type-k"), ("cache_type_k",), _cache_type),
    Option(("-ctv", "--cache-type-v"), ("cache_type_v",), _cache_type),
    Option(("-cram", "--cache-ram"), ("cache_ram_mib",), _whole),
    Option(("--cache-reuse",), ("n_cache_reuse",), _whole),
    Option(("-ctxcp", "--ctx-checkpoints", "--swa-checkpoints"), ("n_ctx_checkpoints",), _whole),
    Option(("--slot-save-path",), ("slot_save_path",), _directory),
    Option(("-sps", "--slot-prompt-similarity"), ("slot_prompt_similarity",), _decimal),
    Option(("--api-key",), ("api_keys",), _words),
    Option(("--api-key-file",), ("api_keys",), lambda word: [key for key in _text_of_file(word).splitlines() if key]),
    Option(("--api-prefix",), ("api_prefix",), str),
    Option(("--ssl-key-file",), ("ssl_file_key",), str),
    Option(("--ssl-cert-file",), ("ssl_file_cert",), str),
    Option(("--chat-template",), ("chat_template",), str),
    Option(("--chat-template-file",), ("chat_template",), _text_of_file),
    Option(("--sse-ping-interval",), ("sse_ping_interval",), _whole),
    Option(("--cors-origins",), ("cors_origins",), str),
    Option(("--cors-methods",), ("cors_methods",), str),
    Option(("--cors-headers",), ("cors_headers",), str),
    Option(("-s", "--seed"), ("sampling.seed",), lambda word: _whole(word) % 2**32),
    Option(("--temp", "--temperature"), ("sampling.temp",), _decimal),
    Option(("-lv", "--verbosity", "--log-verbosity"), ("verbosity",), _whole),
)

SWITCHES = (
    Switch(("-kvu", "--kv-unified"), ("kv_unified",), True),
    Switch(("-no-kvu", "--no-kv-unified"), ("kv_unified",), False),
    Switch(("--swa-full",), ("swa_full",), True),
    Switch(("-nr", "--no-repack"), ("no_extra_bufts",), True),
    Switch(("--repack",), ("no_extra_bufts",), False),
    Switch(("--slots",), ("endpoint_slots",), True),
    Switch(("--no-slots",), ("endpoint_slots",), False),
    Switch(("--metrics",), ("endpoint_metrics",), True),
    Switch(("--props",), ("endpoint_props",), True),
    Switch(("--webui", "--ui"), ("ui", "webui"), True),
    Switch(("--no-webui", "--no-ui"), ("ui", "webui"), False),
    Switch(("--cache-prompt",), ("cache_prompt",), True),
    Switch(("--no-cache-prompt",), ("cache_prompt",), False),
    Switch(("--cache-idle-slots",), ("cache_idle_slots",), True),
    Switch(("--no-cache-idle-slots",), ("cache_idle_slots",), False),
    Switch(("--context-shift",), ("ctx_shift",), True),
    Switch(("--no-context-shift",), ("ctx_shift",), False),
    Switch(("-cb", "--cont-batching"), ("cont_batching",), True),
    Switch(("-nocb", "--no-cont-batching"), ("cont_batching",), False),
    Switch(("--warmup",), ("warmup",), True),
    Switch(("--no-warmup",), ("warmup",), False),
    Switch(("--mmap",), ("load_mode", "use_mmap"), lambda: _load_mode("MMAP")),
    Switch(("--no-mmap",), ("load_mode", "use_mmap"), lambda: _load_mode("NONE")),
    Switch(("--mlock",), ("load_mode", "use_mlock"), lambda: _load_mode("MLOCK")),
    Switch(("--jinja",), ("use_jinja",), True),
    Switch(("--no-jinja",), ("use_jinja",), False),
    Switch(("--ignore-eos",), ("sampling.ignore_eos",), True),
    Switch(("--reuse-port",), ("reuse_port",), True),
    Switch(("--offline",), ("offline",), True),
    Switch(("-v", "--verbose", "--log-verbose"), ("verbosity",), VERBOSE),
)

FLAGS: dict[str, Option | Switch] = {name: flag for flag in (*OPTIONS, *SWITCHES) for name in flag.names}


def parse(words: Sequence[str]) -> list[tuple[str, Option | Switch, Any]]:
    """Flag, its entry and its value for each flag given, in order."""
    settings: list[tuple[str, Option | Switch, Any]] = []
    rest = iter(words)
    for word in rest:
        name = word.replace("_", "-") if word.startswith("--") else word
        flag = FLAGS.get(name)
        if flag is None:
            raise BadArgument(f"error: invalid argument: {word}")
        if isinstance(flag, Switch):
            settings.append((name, flag, flag.value() if callable(flag.value) else flag.value))
            continue
        value = next(rest, None)
        try:
            if value is None:
                raise ValueError("expected value for argument")
            settings.append((name, flag, flag.convert(value)))
        except (ValueError, OverflowError) as err:
            raise BadArgument(f'error while handling argument "{name}": {err}') from err
    return settings


def apply(params: Any, name: str, flag: Option | Switch, value: Any) -> None:
    """Set the first of the entry's fields that this version of the wheel has (`a+b`: both)."""
    for field in flag.fields:
        *owners, last = field.split(".")
        target = params
        for owner in owners:
            target = getattr(target, owner)
        lasts = last.split("+")
        if not all(hasattr(target, each) for each in lasts):
            continue
        for each in lasts:
            # Where a version takes one host name only, its field is text.
            one = isinstance(value, list) and isinstance(getattr(target, each), str)
            try:
                setattr(target, each, ",".join(value) if one else value)
            except (TypeError, ValueError, OverflowError) as err:
                raise BadArgument(f'error while handling argument "{name}": {err}') from err
        return
    raise BadArgument(f"error: invalid argument: {name} (xllamacpp {version('xllamacpp')} has no such setting)")


def parameters(words: Sequence[str]) -> Any:
    """The wheel's parameters for a llama-server command line, with llama-server's own defaults."""
    from xllamacpp import CommonParams

    params = CommonParams()
    # The library's defaults are not the binary's: port 0, and one slot instead of four over one shared pool.
    params.port = 8080
    params.n_parallel = -1
    for name, flag, value in parse(words):
        apply(params, name, flag, value)
    if params.n_parallel < 1:
        params.n_parallel = AUTO_SLOTS
        params.kv_unified = True
    if not params.model.path:
        raise BadArgument("error: --model is required")
    return params


def serve(params: Any) -> int:
    """Serve until TERM or INT, then end with 0, once the requests that are being answered have ended.

    Handlers are installed only when the model is loaded: a signal during the load ends the process by itself. So
    does a second signal: the wheel keeps Python's lock while it closes, so there is nobody left to handle it.
    """
    from xllamacpp import Server

    try:
        server: list[Any] = [Server(params)]
    except RuntimeError:
        # The library has said why on stderr.
        return 1
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    signal.set_wakeup_fd(writer.fileno())
    for number in ENDING:
        signal.signal(number, lambda _number, _frame: None)
    reader.recv(1)
    for number in ENDING:
        signal.signal(number, signal.SIG_DFL)
    server.clear()  # the last reference: its destructor ends the HTTP server and the slots
    return 0


def print_version() -> None:
    from xllamacpp import BUILD_INFO

    wheel = version("xllamacpp")
    print(f"version: {wheel.rpartition('.')[2]} (xllamacpp {wheel})", file=sys.stderr)
    print(f"built with {BUILD_INFO['compiler']} for {BUILD_INFO['build_target']}", file=sys.stderr)


def main(words: Sequence[str]) -> int:
    if "--version" in words:
        print_version()
        return 0
    try:
        params = parameters(words)
    except BadArgument as err:
        print(err, file=sys.stderr)
        return 1
    return serve(params)


def _run() -> NoReturn:
    sys.exit(main(sys.argv[1:]))


if __name__ == "__main__":
    _run()
