"""INFO, CONFIGURE, SET_EXPERT_MODE, SWAP_QUANT and PIPELINE_ATTACH: what is asked of the engine as a whole."""

from __future__ import annotations

from fakes.engine.config import Generation
from fakes.engine.engine import Engine
from fakes.engine.outcome import Outcome
from wire.errors import RemoteWireError
from wire.fields import parse_object
from wire.hydra import Status
from wire.hydra_meta import MERGED_DECODE

_CHUNK_BYTES = (65_536, 2_097_152, 67_108_864)
_CAPABILITIES = ("prefill", "decode", "state_transfer", "expert_mode", "quant_swap", "preset")


def info(engine: Engine) -> Outcome:
    capabilities = [*_CAPABILITIES, "tokenizer", "model_name", "model_quant", "model_capabilities"]
    if engine.config.generation is Generation.MERGED:
        capabilities.append(MERGED_DECODE)
    values: dict[str, object] = {
        "engine": "llama-server-hydra",
        "version": "E1",
        "capabilities": capabilities,
        "preset_aliases": [one.alias for one in engine.config.models],
        "solo_active": True,
        "rpc_backend_active": False,
        "mode": "solo",
        "split_mode": "none",
        "peer_addr": "",
        "peer_reachable": False,
        "layer_split": "",
        "combined_head_attached": False,
        "pipeline_capable": False,
    }
    return Outcome(Status.OK, values | engine.identity_fields())


def configure(payload: bytes) -> Outcome:
    """One key is known; what is not known is no error and not applied."""
    try:
        values = parse_object(payload, "the payload of CONFIGURE") if payload else {}
    except RemoteWireError as error:
        return Outcome(Status.ERROR, {"success": False, "error": str(error), "tier": "T1"})
    answer: dict[str, object] = {"success": True, "tier": "T1", "params_applied": {}, "deferred_keys": []}
    wanted = values.get("state_chunk_size")
    if wanted is None:
        return Outcome(Status.OK, answer)
    if not isinstance(wanted, int) or isinstance(wanted, bool):
        return Outcome(Status.ERROR, {"success": False, "error": "state_chunk_size is no whole number", "tier": "T1"})
    low, _, high = _CHUNK_BYTES
    applied = min(max(wanted, low), high)
    answer |= {"params_applied": {"state_chunk_size": applied}, "state_chunk_size_applied": applied}
    return Outcome(Status.OK, answer)


def set_expert_mode(payload: bytes) -> Outcome:
    """This engine has no peer: it stays solo whatever is asked, and says so."""
    wanted = _wanted_mode(payload)
    if wanted not in ("solo", "combined"):
        return Outcome(Status.ERROR, {"success": False, "error": f"no mode is called {wanted[:40]!r}"})
    return Outcome(Status.OK, {"success": True, "mode": "solo"})


def _wanted_mode(payload: bytes) -> str:
    try:
        return str(parse_object(payload, "the payload of SET_EXPERT_MODE").get("mode"))
    except RemoteWireError:
        return payload.decode(errors="replace")


def swap_quant(payload: bytes) -> Outcome:
    """A length and a key have to fit into the payload; nothing is swapped."""
    if len(payload) < 2 or int.from_bytes(payload[:2], "little") > len(payload) - 2:
        return Outcome(Status.BAD_REQUEST, {"success": False, "error": "the quant key does not fit into the payload"})
    return Outcome(Status.OK, {"success": True})


def pipeline_attach() -> Outcome:
    return Outcome(Status.NOT_IMPLEMENTED, {"success": False, "error": "a pipeline cannot be attached"})
