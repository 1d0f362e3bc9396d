"""Which model some KV belongs to, as engines name it, and whether two names allow the KV to be handed over.

Two generations name it differently: `model_hash` alone, or tokenizer, name, quantisation and capability bits. The
gate here is the engines' own (before and after a model swap); what a router makes of an unknown side is its policy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from wire.fields import whole

CAPABILITY_NAMES = ("MTP", "VISION", "REASONING", "TOOL_USE", "CODE")
"""By bit number."""
GATED_BITS = 0b11
"""A difference in MTP or VISION is never bridged; one in the others may be."""
MAX_CAPABILITIES = 2**53 - 1


@dataclass(frozen=True, slots=True)
class Identity:
    """What is known of a model. An empty text is unknown; `capabilities` None too."""

    tokenizer: str = ""
    model_name: str = ""
    model_quant: str = ""
    capabilities: int | None = None
    model_alias: str = ""
    model_hash: str = ""

    @property
    def known(self) -> bool:
        return bool(self.model_hash or (self.tokenizer and self.model_name))


@dataclass(frozen=True, slots=True)
class Match:
    """How two identities compare, field by field."""

    tokenizer: bool
    model_name: bool
    model_quant: bool
    model_alias: bool
    capabilities_xor: int

    @property
    def passes(self) -> bool:
        """The engines' gate: another quantisation passes, another tokenizer or name does not."""
        return self.tokenizer and self.model_name and not self.capabilities_xor & GATED_BITS


def compare(kv: Identity, target: Identity) -> Match:
    return Match(
        tokenizer=kv.tokenizer == target.tokenizer,
        model_name=kv.model_name == target.model_name,
        model_quant=kv.model_quant == target.model_quant,
        model_alias=kv.model_alias == target.model_alias,
        capabilities_xor=(kv.capabilities or 0) ^ (target.capabilities or 0),
    )


def encode_match(match: Match) -> dict[str, object]:
    differing = [name for bit, name in enumerate(CAPABILITY_NAMES) if match.capabilities_xor >> bit & 1]
    return {
        "tokenizer_match": match.tokenizer,
        "model_name_match": match.model_name,
        "capabilities_xor": match.capabilities_xor,
        "capabilities_diff_bits": differing,
        "model_quant_match": match.model_quant,
        "model_alias_match": match.model_alias,
    }


def decode_identity(values: Mapping[str, object]) -> Identity:
    """The identity fields of a meta; absent ones, and those that are no text, are unknown."""
    capabilities = values.get("model_capabilities")
    return Identity(
        tokenizer=_text(values, "tokenizer"),
        model_name=_text(values, "model_name"),
        model_quant=_text(values, "model_quant"),
        capabilities=None if capabilities is None else whole(capabilities, "model_capabilities", 0, MAX_CAPABILITIES),
        model_alias=_text(values, "model_alias"),
        model_hash=_text(values, "model_hash"),
    )


def encode_identity(identity: Identity) -> dict[str, object]:
    """The fields that are known, and no others."""
    fields: dict[str, object] = {
        "model_alias": identity.model_alias,
        "tokenizer": identity.tokenizer,
        "model_name": identity.model_name,
        "model_quant": identity.model_quant,
        "model_hash": identity.model_hash,
    }
    known = {key: value for key, value in fields.items() if value}
    return known if identity.capabilities is None else known | {"model_capabilities": identity.capabilities}


def _text(values: Mapping[str, object], key: str) -> str:
    value = values.get(key)
    return value if isinstance(value, str) else ""
