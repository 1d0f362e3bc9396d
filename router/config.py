"""The router's configuration: one frozen value, validated once. Contradictions are errors, never guesses.

Reads no command line (`router.flags`) and opens nothing but the files it is given.
"""

from __future__ import annotations

import ipaddress
import itertools
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from router.errors import ConfigError

CHILD_SLOTS = 4
"""`--parallel` of a decoder that the router starts, when its arguments do not say."""

CACHE_OFF, CACHE_UNKNOWN = "0", "unknown"
"""What the operator says of the `--cache-ram` of decoders that the router did not start."""

_OURS = {
    "-m": "-m",
    "--model": "-m",
    "--host": "nothing: the decoder listens on loopback",
    "--port": "nothing: the router picks the port",
    "--slot-save-path": "--slot-save-path",
    "-a": "--alias",
    "--alias": "--alias",
    "--api-key": "--decoder-api-key-file",
    "--api-key-file": "--decoder-api-key-file",
}


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds. Each is cut to what is left of the request's own."""

    share: float = 30.0
    """Of share, adopt and erase alike: real servers queue slot actions behind other slots' work."""
    descriptors: float = 2.0
    provider: float = 300.0
    restore: float = 60.0
    first_byte: float = 600.0
    stream: float = 60.0
    """Silence inside a reply, and inside a client's body."""
    request: float = 1800.0
    """Above the sum of the others, so that a step's own deadline is the one that is missed."""
    drain: float = 30.0


@dataclass(frozen=True, slots=True)
class ChildDecoder:
    """A decoder that the router starts and ends itself."""

    command: tuple[str, ...]
    model: str
    extra: tuple[str, ...]

    def n_slots(self) -> int:
        return int(_value_of(self.extra, "-np", "--parallel") or CHILD_SLOTS)


@dataclass(frozen=True, slots=True)
class Tls:
    """The files of the listener."""

    cert: Path
    key: Path


@dataclass(frozen=True, slots=True)
class Config:
    """Everything in force, defaults included."""

    host: str = "127.0.0.1"
    port: int = 8000
    decoders: tuple[str, ...] = ()
    child: ChildDecoder | None = None
    provider: tuple[str, ...] = ()
    prefill_url: str | None = None
    engine_prefill: str | None = None
    """HOST:PORT of its RPC."""
    engine_prefill_url: str | None = None
    engine_decode: tuple[str, ...] = ()
    """HOST:PORT of each decoder's RPC, in the order of `decoders`."""
    provider_concurrency: int | None = None
    """None: as many as the decoders have slots."""
    slot_save_path: Path | None = None
    kv_share: bool = False
    min_prefill_tokens: int = 16
    hold_back: int = 0
    decoder_cache_ram: str = CACHE_UNKNOWN
    strict: bool = False
    alias: str | None = None
    api_key_file: Path | None = None
    decoder_api_key_file: Path | None = None
    prefill_api_key_file: Path | None = None
    tls: Tls | None = None
    decoder_ca: Path | None = None
    max_queue: int = 256
    max_body: int = 64 << 20
    timeouts: Timeouts = Timeouts()
    log_format: str = "text"

    @property
    def cache_is_off(self) -> bool:
        """Whether what a decoder counts as cached can only have come from its slot."""
        return self.child is not None or self.decoder_cache_ram == CACHE_OFF

    @property
    def has_provider(self) -> bool:
        return bool(self.provider) or self.prefill_url is not None or self.engine_prefill is not None

    @property
    def has_state_file(self) -> bool:
        """Whether there is a folder that both provider and decoder see; a child decoder gets one made."""
        return self.slot_save_path is not None or self.child is not None


def validate(config: Config) -> Config:
    """The same value, or ConfigError with the first thing that is wrong with it."""
    _validate_decoders(config)
    _validate_provider(config)
    _validate_engines(config)
    _validate_files(config)
    if config.child is not None:
        _validate_child(config.child)
        if config.decoder_cache_ram != CACHE_UNKNOWN:
            raise ConfigError("--decoder-cache-ram is said of a --decoder; one that the router starts has it at 0")
    return config


def _validate_decoders(config: Config) -> None:
    if bool(config.decoders) == (config.child is not None):
        raise ConfigError("give either --decoder URL or --llama-server PATH, and not both")
    for url in config.decoders:
        check_url("--decoder", url)
    if len(set(config.decoders)) != len(config.decoders):
        raise ConfigError("--decoder names the same URL twice")


def _validate_provider(config: Config) -> None:
    if config.provider and config.prefill_url is not None:
        raise ConfigError("give either --provider or --prefill-url, and not both")
    if config.prefill_url is not None:
        check_url("--prefill-url", config.prefill_url)
        if config.prefill_url in config.decoders:
            raise ConfigError(f"--prefill-url {config.prefill_url} is also a --decoder")
        if not config.has_state_file:
            raise ConfigError("--prefill-url needs --slot-save-path: the folder that both servers were started with")
    if config.provider:
        if shutil.which(config.provider[0]) is None:
            raise ConfigError(f"--provider: no such command: {config.provider[0]}")
        if not config.kv_share and not config.has_state_file:
            raise ConfigError("--provider needs --kv-share or --slot-save-path: else there is no route for its rows")
    for flag, value in (("--kv-share", config.kv_share), ("--strict", config.strict)):
        if value and not config.has_provider:
            raise ConfigError(f"{flag} needs --provider, --prefill-url or --engine-prefill")
    if config.prefill_api_key_file is not None and config.prefill_url is None and config.engine_prefill_url is None:
        raise ConfigError("--prefill-api-key-file needs --prefill-url or --engine-prefill-url")


def _validate_engines(config: Config) -> None:
    prefill, url, decode = config.engine_prefill, config.engine_prefill_url, config.engine_decode
    if not (prefill or url or decode):
        return
    if prefill is None or url is None or not decode:
        raise ConfigError("--engine-prefill, --engine-prefill-url and --engine-decode belong together")
    if config.provider or config.prefill_url is not None or config.kv_share:
        raise ConfigError("--engine-prefill stands instead of --provider, --prefill-url and --kv-share")
    check_url("--engine-prefill-url", url)
    check_address("--engine-prefill", prefill)
    for address in decode:
        check_address("--engine-decode", address)
    if len(decode) != len(config.decoders):
        raise ConfigError(
            f"--engine-decode names {len(decode)} engines and --decoder {len(config.decoders)}: give each one's HTTP "
            "side as --decoder, in the same order"
        )
    if len({*decode, prefill}) != len(decode) + 1:
        raise ConfigError("--engine-prefill and --engine-decode name the same engine twice")


def check_address(flag: str, text: str) -> tuple[str, int]:
    """Host and port. ConfigError: it is not HOST:PORT."""
    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or "/" in host or not (port.isascii() and port.isdecimal() and 0 < int(port) <= 65535):
        raise ConfigError(f"{flag} {text}: expected HOST:PORT, such as 127.0.0.1:9503")
    return host, int(port)


def _validate_files(config: Config) -> None:
    for flag, path in (
        ("--api-key-file", config.api_key_file),
        ("--decoder-api-key-file", config.decoder_api_key_file),
        ("--prefill-api-key-file", config.prefill_api_key_file),
        ("--tls-cert", config.tls.cert if config.tls is not None else None),
        ("--tls-key", config.tls.key if config.tls is not None else None),
        ("--decoder-ca", config.decoder_ca),
    ):
        if path is not None and not (path.is_file() and os.access(path, os.R_OK)):
            raise ConfigError(f"{flag}: no readable file: {path}")
    folder = config.slot_save_path
    if folder is not None and not folder.is_dir():
        raise ConfigError(f"--slot-save-path: not a directory: {folder}")
    if folder is not None and not os.access(folder, os.W_OK | os.X_OK):
        raise ConfigError(f"--slot-save-path: not writable: {folder}")


def _validate_child(child: ChildDecoder) -> None:
    if shutil.which(child.command[0]) is None:
        raise ConfigError(f"--llama-server: no such command: {child.command[0]}")
    if not Path(child.model).exists() and "/" in child.model:
        raise ConfigError(f"-m: no such file: {child.model}")
    for word in child.extra:
        if word in _OURS:
            raise ConfigError(f"decoder argument {word} is the router's to give; instead of it use {_OURS[word]}")
    cache_ram = _value_of(child.extra, "-cram", "--cache-ram")
    if cache_ram not in (None, "0"):
        raise ConfigError(f"decoder argument --cache-ram {cache_ram}: a handoff cannot be told from its cache; it is 0")
    slots = _value_of(child.extra, "-np", "--parallel")
    if slots is not None and not (slots.isdecimal() and int(slots) > 0):
        raise ConfigError(f"decoder argument --parallel {slots}: not a number of at least 1")


def _value_of(words: tuple[str, ...], *names: str) -> str | None:
    """The value of the last of `names` among a decoder's arguments."""
    found = None
    for name, value in itertools.pairwise(words):
        if name.replace("_", "-") in names:
            found = value
    return found


def check_url(flag: str, url: str) -> None:
    """ConfigError unless `url` is an address and nothing more."""
    parts = urlsplit(url)
    try:
        port = parts.port
    except ValueError:
        raise ConfigError(f"{flag} {url}: the port is not a number of 1 to 65535") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(f"{flag} {url}: expected http://HOST:PORT or https://HOST:PORT")
    if parts.path not in ("", "/") or parts.query or parts.fragment or parts.username is not None or port == 0:
        raise ConfigError(f"{flag} {url}: expected nothing but the address, such as http://127.0.0.1:8080")


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach `host`."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
