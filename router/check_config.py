"""`kvgate-router check-config`: every value in force, defaults included, and no secret."""

from __future__ import annotations

from dataclasses import fields, is_dataclass

from router.config import Config
from router.parts import Keys


def report(config: Config, keys: Keys) -> str:
    """One `name = value` line for each value."""
    lines = [f"{name} = {_shown(value)}" for name, value in _values("", config)]
    lines += [
        f"keys of clients = {len(keys.clients)}" + ("" if keys.clients else " (anybody may send requests)"),
        f"keys for decoders = {len(keys.decoder)}",
        f"keys for the prefill server = {len(keys.prefill)}",
    ]
    return "\n".join(lines)


def _values(prefix: str, value: object) -> list[tuple[str, object]]:
    if not is_dataclass(value) or isinstance(value, type):
        return [(prefix, value)]
    found: list[tuple[str, object]] = []
    for field in fields(value):
        name = f"{prefix}.{field.name}" if prefix else field.name
        found += _values(name, getattr(value, field.name))
    return found


def _shown(value: object) -> str:
    match value:
        case None | ():
            return "(none)"
        case bool():
            return "yes" if value else "no"
        case tuple():
            return " ".join(str(item) for item in value)
        case float():
            return f"{value:g} s"
        case _:
            return str(value)
