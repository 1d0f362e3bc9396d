"""One blueprint per memory architecture that llama.cpp tells apart.

dense: every token's rows stay. Sliding window: rows older than the window go. Recurrent: one state that only goes
forward. Hybrid: both kinds in one model. A restored slot can be reused differently by each.
"""

from __future__ import annotations

from harness.models.memory import Memory
from harness.models.zoo.blueprint import (
    BRANCH,
    EMBEDDING,
    HEAD,
    HEADS,
    KV_HEADS,
    LAYERS,
    ONE,
    WIDTH,
    WINDOW,
    Around,
    Blueprint,
    Setting,
    Tensor,
    around_blocks,
    attention,
    attention_settings,
    common_settings,
    feed_forward,
    matrix,
    norm,
)

CONVOLUTION = 4
STATE = 16
INNER = 2 * WIDTH
SSM_HEADS = 8
SSM_GROUPS = 1
TIME_STEP_RANK = 8

DECAY = Around(-1.0, 0.8)
TIME_STEP = Around(-1.5, 1.0)
SMALL = Around(0.0, 0.1)


def _blocks(*parts: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return tuple(tensor for part in parts for tensor in part)


def llama(n_vocabulary: int) -> Blueprint:
    return _dense("llama", n_vocabulary, normed=False)


def qwen3(n_vocabulary: int) -> Blueprint:
    return _dense("qwen3", n_vocabulary, normed=True)


def _dense(architecture: str, n_vocabulary: int, *, normed: bool) -> Blueprint:
    blocks = _blocks(
        *(
            (
                norm(f"blk.{i}.attn_norm"),
                *attention(f"blk.{i}", normed=normed),
                norm(f"blk.{i}.ffn_norm"),
                *feed_forward(f"blk.{i}"),
            )
            for i in range(LAYERS)
        )
    )
    return Blueprint(
        architecture,
        Memory.DENSE,
        (*common_settings(), *attention_settings()),
        (*around_blocks(n_vocabulary), *blocks),
    )


def gemma3(n_vocabulary: int) -> Blueprint:
    """Every second layer sees the window only. The embedding is scaled up by the root of the width when used."""
    blocks = _blocks(
        *(
            (
                norm(f"blk.{i}.attn_norm"),
                *attention(f"blk.{i}", normed=True),
                norm(f"blk.{i}.post_attention_norm", middle=BRANCH),
                norm(f"blk.{i}.ffn_norm"),
                *feed_forward(f"blk.{i}"),
                norm(f"blk.{i}.post_ffw_norm", middle=BRANCH),
            )
            for i in range(LAYERS)
        )
    )
    sliding: tuple[tuple[str, Setting], ...] = (
        ("attention.sliding_window", WINDOW),
        ("attention.sliding_window_pattern", 2),
    )
    return Blueprint(
        "gemma3",
        Memory.SLIDING,
        (*common_settings(), *attention_settings(), *sliding),
        (*around_blocks(n_vocabulary, embedding=EMBEDDING / WIDTH**0.5), *blocks),
    )


def _ssm_settings(inner: int, rank: int, groups: int | None) -> tuple[tuple[str, Setting], ...]:
    shape: tuple[tuple[str, Setting], ...] = (
        ("ssm.conv_kernel", CONVOLUTION),
        ("ssm.inner_size", inner),
        ("ssm.state_size", STATE),
        ("ssm.time_step_rank", rank),
    )
    return shape if groups is None else (*shape, ("ssm.group_count", groups))


def mamba(n_vocabulary: int) -> Blueprint:
    blocks = _blocks(*((norm(f"blk.{i}.attn_norm"), *_scan(f"blk.{i}")) for i in range(LAYERS)))
    settings = (*common_settings(), ("attention.head_count", 0), *_ssm_settings(INNER, TIME_STEP_RANK, None))
    return Blueprint("mamba", Memory.RECURRENT, settings, (*around_blocks(n_vocabulary), *blocks))


def _scan(block: str) -> tuple[Tensor, ...]:
    """A selective scan with a time step for each channel."""
    return (
        matrix(f"{block}.ssm_in", 2 * INNER, WIDTH, 1.5),
        Tensor(f"{block}.ssm_conv1d.weight", (INNER, CONVOLUTION), Around(0.0, 0.9)),
        Tensor(f"{block}.ssm_conv1d.bias", (INNER,), SMALL),
        matrix(f"{block}.ssm_x", TIME_STEP_RANK + 2 * STATE, INNER, 2.0),
        matrix(f"{block}.ssm_dt", INNER, TIME_STEP_RANK),
        Tensor(f"{block}.ssm_dt.bias", (INNER,), TIME_STEP),
        Tensor(f"{block}.ssm_a", (INNER, STATE), DECAY),
        Tensor(f"{block}.ssm_d", (INNER,), ONE),
        matrix(f"{block}.ssm_out", WIDTH, INNER, 2.0),
    )


def mamba2(n_vocabulary: int) -> Blueprint:
    blocks = _blocks(*((norm(f"blk.{i}.attn_norm"), *_grouped_scan(f"blk.{i}", INNER)) for i in range(LAYERS)))
    settings = (*common_settings(), ("attention.head_count", 0), *_ssm_settings(INNER, SSM_HEADS, SSM_GROUPS))
    return Blueprint("mamba2", Memory.RECURRENT, settings, (*around_blocks(n_vocabulary), *blocks))


def _grouped_scan(block: str, inner: int) -> tuple[Tensor, ...]:
    """A scan with one time step per head."""
    convolved = inner + 2 * SSM_GROUPS * STATE
    return (
        matrix(f"{block}.ssm_in", inner + convolved + SSM_HEADS, WIDTH, 1.5),
        Tensor(f"{block}.ssm_conv1d.weight", (convolved, CONVOLUTION), Around(0.0, 0.9)),
        Tensor(f"{block}.ssm_conv1d.bias", (convolved,), SMALL),
        Tensor(f"{block}.ssm_dt.bias", (SSM_HEADS,), TIME_STEP),
        Tensor(f"{block}.ssm_a", (SSM_HEADS, 1), DECAY),
        Tensor(f"{block}.ssm_d", (SSM_HEADS, 1), ONE),
        Tensor(f"{block}.ssm_norm.weight", (SSM_GROUPS, inner // SSM_GROUPS), ONE),
        matrix(f"{block}.ssm_out", WIDTH, inner, BRANCH),
    )


def falcon_h1(n_vocabulary: int) -> Blueprint:
    """Attention and a scan side by side in every layer."""
    blocks = _blocks(
        *(
            (
                norm(f"blk.{i}.attn_norm"),
                *attention(f"blk.{i}", normed=False),
                *_grouped_scan(f"blk.{i}", INNER),
                # The one norm that llama.cpp reads without the ending `.weight`.
                Tensor(f"blk.{i}.ffn_norm", (WIDTH,), ONE),
                *feed_forward(f"blk.{i}"),
            )
            for i in range(LAYERS)
        )
    )
    settings = (*common_settings(), *attention_settings(), *_ssm_settings(INNER, SSM_HEADS, SSM_GROUPS))
    return Blueprint("falcon-h1", Memory.HYBRID, settings, (*around_blocks(n_vocabulary), *blocks))


def lfm2(n_vocabulary: int) -> Blueprint:
    """Short convolutions, and attention in every second layer: a layer without KV heads is a convolution."""
    kv_heads = tuple(KV_HEADS if i % 2 else 0 for i in range(LAYERS))
    blocks = _blocks(
        *(
            (
                norm(f"blk.{i}.attn_norm"),
                *(attention(f"blk.{i}", normed=True) if kv_heads[i] else _short_convolution(f"blk.{i}")),
                norm(f"blk.{i}.ffn_norm"),
                *feed_forward(f"blk.{i}"),
            )
            for i in range(LAYERS)
        )
    )
    settings = (*common_settings(), *attention_settings(kv_heads), ("shortconv.l_cache", 3))
    around = around_blocks(n_vocabulary, output_norm="token_embd_norm")
    return Blueprint("lfm2", Memory.HYBRID, settings, (*around, *blocks))


def _short_convolution(block: str) -> tuple[Tensor, ...]:
    return (
        matrix(f"{block}.shortconv.in_proj", 3 * WIDTH, WIDTH, 1.5),
        Tensor(f"{block}.shortconv.conv.weight", (WIDTH, 3), Around(0.0, 0.9)),
        matrix(f"{block}.shortconv.out_proj", WIDTH, WIDTH, BRANCH),
    )


def qwen35(n_vocabulary: int) -> Blueprint:
    """Three delta-net layers, then one of gated attention."""
    interval = 4
    blocks = _blocks(
        *(
            (
                norm(f"blk.{i}.attn_norm"),
                # Gated attention computes its gate beside the queries.
                *(
                    attention(f"blk.{i}", normed=True, query_outputs=2 * HEADS * HEAD)
                    if (i + 1) % interval == 0
                    else _delta_net(f"blk.{i}")
                ),
                norm(f"blk.{i}.post_attention_norm"),
                *feed_forward(f"blk.{i}"),
            )
            for i in range(LAYERS)
        )
    )
    settings = (
        *common_settings(),
        *attention_settings(),
        ("rope.dimension_sections", (3, 3, 2, 0)),
        ("full_attention_interval", interval),
        *_ssm_settings(HEADS * STATE, HEADS, KV_HEADS),
    )
    return Blueprint("qwen35", Memory.HYBRID, settings, (*around_blocks(n_vocabulary), *blocks))


def _delta_net(block: str) -> tuple[Tensor, ...]:
    keys, values = KV_HEADS * STATE, HEADS * STATE
    return (
        matrix(f"{block}.attn_qkv", 2 * keys + values, WIDTH, 1.5),
        matrix(f"{block}.attn_gate", values, WIDTH, 1.5),
        Tensor(f"{block}.ssm_conv1d.weight", (2 * keys + values, CONVOLUTION), Around(0.0, 0.9)),
        Tensor(f"{block}.ssm_dt.bias", (HEADS,), TIME_STEP),
        Tensor(f"{block}.ssm_a", (HEADS,), DECAY),
        matrix(f"{block}.ssm_beta", HEADS, WIDTH),
        matrix(f"{block}.ssm_alpha", HEADS, WIDTH),
        norm(f"{block}.ssm_norm", STATE),
        matrix(f"{block}.ssm_out", WIDTH, values, BRANCH),
    )
