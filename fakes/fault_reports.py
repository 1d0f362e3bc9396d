"""The public reports that faults stand for, what each asks of a fake, and which fault answers it.

A fault names its reports itself; here stand the reports as a whole, so that one without a fault is seen, and the modes
that they ask for, under the names they were asked for by.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Report:
    """One report. `asks_decoder`, `asks_provider`: whether it asks for a mode of that fake. `why` says why there is no
    mode, or what shows it instead.
    """

    ref: str
    asks_decoder: bool = False
    asks_provider: bool = False
    why: str = ""


_HYDRA = "https://github.com/ddvnguyen/hydra_vortex/blob"
CHANGELOG = f"{_HYDRA}/0b014cfd019c272faf30293c8009dfdba4d64e5b/CHANGELOG.md"
RPC_TEXT = f"{_HYDRA}/5d74feb275af81da5d403552e3125745f3c40fbb/specs/rpc-protocol.md"
"""What the RPC's own text leaves a peer free to send."""
RPC_ENGINE = (
    "https://github.com/ddvnguyen/llama.cpp/blob/b76630f89917bf4e4876d043e9cfeae5ee6d30f2/tools/server"
    "/hydra-server-context.cpp"
)
"""What a published engine is seen to do in its own code."""
REPORTS = (
    Report("ggml-org/llama.cpp#26676", True),
    Report("ggml-org/llama.cpp#28194", True),
    Report("ggml-org/llama.cpp#27068", True),
    Report("ggml-org/llama.cpp#14434", True),
    Report("1bit-MONSTER/1bit-MONSTER#2145", True),
    Report("ddvnguyen/hydra_vortex#470", True),
    Report(CHANGELOG, True),
    Report("ddvnguyen/hydra_vortex#615", asks_provider=True),
    Report("ddvnguyen/llama.cpp#77", True),
    Report("llm-d/llm-d-router#2427", why="a router without a provider that is ready: no fake has to do anything"),
    Report("llm-d/llm-d-router#1206", asks_provider=True),
    Report("sgl-project/sglang#30233", asks_provider=True),
    Report("vllm-project/vllm#52234", True, True),
    Report("LMCache/LMCache#4614", True, True),
    Report("vllm-project/vllm#46008", asks_provider=True),
    Report("sgl-project/sglang#7147", True),
    Report("ModelEngine-Group/unified-cache-management#1295", asks_provider=True),
    Report("sgl-project/sglang#29017", True, True),
    Report("sgl-project/sglang#29482", True, True),
    Report("vllm-project/vllm-ascend#14123", True),
    Report("LMCache/LMCache#4209", asks_provider=True),
    Report("ai-dynamo/dynamo#13088"),
    Report("sgl-project/sglang#34570", asks_provider=True),
    Report("vllm-project/vllm-ascend#13466", True),
    Report("vllm-project/vllm-ascend#10812", why="a pattern of clients that leave: no fake has to do anything"),
    Report("sgl-project/sglang#24527", True, True),
    Report("antoinezambelli/forge#155", True),
    Report("ggml-org/llama.cpp#28139", True),
    Report("ggml-org/llama.cpp#27148", True),
    Report("ggml-org/llama.cpp#18703", True),
    Report("ggml-org/llama.cpp#24496", True),
    Report("ai-dynamo/dynamo#13691", asks_provider=True),
    Report("BerriAI/litellm#30244", True),
    Report("gpustack/gpustack#5939", True),
    Report("BerriAI/litellm#40404", True),
    Report("lemonade-sdk/lemonade#1836"),
    Report("mostlygeek/llama-swap#138"),
    Report("ollama/ollama#17516"),
    Report("ggml-org/llama.cpp#27388", True),
    Report("mostlygeek/llama-swap#946"),
    Report(
        "ggml-org/llama.cpp#28368",
        why="rounding of real kernels, which the toy model has not: a gate on a real server",
    ),
    Report("ggml-org/llama.cpp#26315", why="names that lead out of a folder: a gate on the router and a real server"),
)


@dataclass(frozen=True, slots=True)
class Asked:
    """A mode as the reports ask for it, by whom it is played, and the settings that play it here."""

    who: str
    mode: str
    settings: tuple[str, ...]
    note: str = ""


_PREFILL_SERVER = "of a prefill server, which is a decoder"
ASKED = (
    Asked("decoder", "adopt_ack_empty", ("kvshare-adopt-empty", "restore-empty")),
    Asked("decoder", "adopt_ok_reuse_zero", ("reuse-none", "restore-checkpoint")),
    Asked("decoder", "adopt_then_reset", ("reuse-then-reset",)),
    Asked("decoder", "reject_then_poison", ("restore-refuse-poisons", "engine-poison-then-crash")),
    Asked("decoder", "refuse_and_wipe", ("restore-refuse", "restore-path-removed")),
    Asked("decoder", "crash_on_empty_adopt", ("restore-dies-empty",)),
    Asked("decoder", "identity_changed", ("back-as-other-model", "engine-identity-flips")),
    Asked("decoder", "meta_zero_after_put", ("engine-meta-after-put-zero",)),
    Asked("decoder", "swallow_and_hold", ("http-hang", "kvshare-hang", "engine-accept-silence")),
    Asked("decoder", "accept_never_headers", ("connect-hold", "http-hang")),
    Asked("decoder", "one_chunk_then_silence", ("stream-stall=1",)),
    Asked("decoder", "wait_for_kv", ("wait-for-kv",)),
    Asked("decoder", "ignore_pin", ("pin-ignored",)),
    Asked("decoder", "pin_costs_cache", ("reuse-not-pinned",)),
    Asked("decoder", "slots_400", ("slot-actions-off=400",)),
    Asked("decoder", "slots_501", ("slot-actions-off=501",)),
    Asked("decoder", "answer_previous", ("answer-previous",)),
    Asked("decoder", "serve_whatever_handle", ("kvshare-adopt-any-id",)),
    Asked("decoder", "adopt_all_N", ("reuse-everything",)),
    Asked("decoder", "cut_at", ("stream-cut", "send-close")),
    Asked("decoder", "stall_at", ("stream-stall", "send-stall")),
    Asked("decoder", "bad_event_at", ("stream-malformed",)),
    Asked("decoder", "reset_at", ("stream-reset", "send-reset")),
    Asked("decoder", "short_content_length", ("reply-length-more", "reply-half-body")),
    Asked("decoder", "ask_recompute_at", ("stream-recompute",)),
    Asked("decoder", "health_ok_work_dead", ("http-wedged",)),
    Asked("decoder", "die_after_ready", ("die-after-ready",)),
    Asked("decoder", "sigstop", ("process-frozen",)),
    Asked("decoder", "slow_stream", ("stream-slow",), "the journal's `disconnect` says when the peer closed"),
    Asked("provider", "status=4xx/5xx/reset", ("provider-exit", "http-status", "http-drop"), _PREFILL_SERVER),
    Asked("provider", "status, after t ms", ("http-late", "provider-late"), _PREFILL_SERVER),
    Asked("provider", "short_rows=k", ("kvshare-short", "provider-fewer-rows")),
    Asked("provider", "abort_after_metadata", ("provider-fails-after-claim", "provider-killed")),
    Asked("provider", "rows=N", ("provider-one-row-more",)),
    Asked(
        "provider",
        "reuse_handle",
        ("provider-stale-rows", "provider-foreign-file", "save-other-slot"),
        "a provider hands out no handle here: share ids are the decoder's, names of files the router's",
    ),
    Asked("provider", "finish_stop_no_handle", ("provider-nothing-done",)),
    Asked("provider", "hold_until_paired", ("provider-hang",)),
    Asked("provider", "work_then_reset", ("provider-killed=100", "send-reset=0"), _PREFILL_SERVER),
    Asked("provider", "slow_write_ignores_cancel", ("provider-slow-write",)),
    Asked("provider", "phase_report", ("provider-late", "provider-hang"), "the journal has each phase as it comes"),
    Asked("provider", "capacity=C", ("provider-capacity",)),
    Asked("provider", "no_space_after=K", ("provider-disk-full", "save-disk-full")),
    Asked("provider", "validates_limits", ("limits-checked",), _PREFILL_SERVER),
)
