"""The timings of every reply say that all of the prompt but one token was there already."""

SUITES = (
    "hybrid_route/restore_unused",
    "hybrid_route/foreign_file",
    "router_zoo/older_build_falcon_h1",
    "router_zoo/older_build_gemma3",
    "router_zoo/older_build_lfm2",
    "router_zoo/older_build_mamba",
    "router_zoo/older_build_mamba2",
    "router_zoo/older_build_qwen35",
)
DECODER_FAULTS = ("counters-lie=used",)
