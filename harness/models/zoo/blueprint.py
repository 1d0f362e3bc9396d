"""What a synthetic model consists of, as data: its settings and its tensors, each with how it is filled.

A blueprint knows no numbers and no file format: `weights` draws the numbers, `gguf_file` writes the file. Shapes
are given as (outputs, inputs), the way they multiply.
"""

from __future__ import annotations

from dataclasses import dataclass

from harness.models.memory import Memory

Setting = int | float | bool | str | tuple[int, ...]

WIDTH = 64
LAYERS = 4
FEED_FORWARD = 128
HEADS = 4
KV_HEADS = 2
HEAD = WIDTH // HEADS
CONTEXT = 8192
WINDOW = 64
NORM_EPSILON = 1e-6


@dataclass(frozen=True, slots=True)
class Gain:
    """Normal numbers, scaled so that an input of size one comes out with size `gain`."""

    gain: float


@dataclass(frozen=True, slots=True)
class Around:
    """Numbers spread evenly over `middle` +- `reach`: norm weights, biases, decays."""

    middle: float
    reach: float


@dataclass(frozen=True, slots=True)
class Head:
    """The output matrix: as Gain, and nothing for tokens that must never be said."""

    gain: float


Fill = Gain | Around | Head


@dataclass(frozen=True, slots=True)
class Tensor:
    """One tensor of the file. `inputs` is what a row is multiplied with, for Gain."""

    name: str
    shape: tuple[int, ...]
    fill: Fill


@dataclass(frozen=True, slots=True)
class Blueprint:
    """A whole model. `settings` are keys under the architecture's own name."""

    architecture: str
    memory: Memory
    settings: tuple[tuple[str, Setting], ...]
    tensors: tuple[Tensor, ...]


# What keeps random weights from saying one word for ever: branches that weigh more than the embedding they are
# added to, attention that looks somewhere, and a head of its own.
EMBEDDING = 0.35
BRANCH = 1.2
QUERY_KEY = 1.7
LOGITS = 2.5
ONE = Around(1.0, 0.1)


def matrix(name: str, outputs: int, inputs: int, gain: float = 1.0) -> Tensor:
    return Tensor(f"{name}.weight", (outputs, inputs), Gain(gain))


def norm(name: str, width: int = WIDTH, middle: float = 1.0) -> Tensor:
    return Tensor(f"{name}.weight", (width,), Around(middle, 0.1))


def around_blocks(
    n_vocabulary: int, *, embedding: float = EMBEDDING, output_norm: str = "output_norm"
) -> tuple[Tensor, ...]:
    """What every architecture has outside its blocks."""
    # A row of the embedding is looked up, not multiplied: its size is its gain over the root of its width.
    return (
        Tensor("token_embd.weight", (n_vocabulary, WIDTH), Gain(embedding * WIDTH**0.5)),
        norm(output_norm),
        Tensor("output.weight", (n_vocabulary, WIDTH), Head(LOGITS)),
    )


def attention(block: str, *, normed: bool, query_outputs: int = HEADS * HEAD) -> tuple[Tensor, ...]:
    """Grouped-query attention; `normed` puts a norm on queries and keys, which then carries the sharpness."""
    sharp = 1.0 if normed else QUERY_KEY
    norms = (norm(f"{block}.attn_q_norm", HEAD, QUERY_KEY), norm(f"{block}.attn_k_norm", HEAD, QUERY_KEY))
    return (
        matrix(f"{block}.attn_q", query_outputs, WIDTH, sharp),
        matrix(f"{block}.attn_k", KV_HEADS * HEAD, WIDTH, sharp),
        matrix(f"{block}.attn_v", KV_HEADS * HEAD, WIDTH, 1.5),
        matrix(f"{block}.attn_output", WIDTH, HEADS * HEAD, BRANCH),
        *(norms if normed else ()),
    )


def feed_forward(block: str) -> tuple[Tensor, ...]:
    return (
        matrix(f"{block}.ffn_gate", FEED_FORWARD, WIDTH),
        matrix(f"{block}.ffn_up", FEED_FORWARD, WIDTH, 1.5),
        matrix(f"{block}.ffn_down", WIDTH, FEED_FORWARD, BRANCH),
    )


def attention_settings(kv_heads: int | tuple[int, ...] = KV_HEADS) -> tuple[tuple[str, Setting], ...]:
    return (
        ("attention.head_count", HEADS),
        ("attention.head_count_kv", kv_heads),
        ("attention.key_length", HEAD),
        ("attention.value_length", HEAD),
        ("rope.dimension_count", HEAD),
        ("rope.freq_base", 10000.0),
    )


def common_settings() -> tuple[tuple[str, Setting], ...]:
    return (
        ("context_length", CONTEXT),
        ("embedding_length", WIDTH),
        ("block_count", LAYERS),
        ("feed_forward_length", FEED_FORWARD),
        ("attention.layer_norm_rms_epsilon", NORM_EPSILON),
    )
