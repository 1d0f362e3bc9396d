"""A blueprint written as a GGUF file: needs the `gguf` package and numpy, which come with the extra `real`."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Any

from harness.models.errors import ModelMissing
from harness.models.zoo.blueprint import Around, Blueprint, Setting
from harness.models.zoo.vocabulary import CHAT_TEMPLATE, END_OF_TEXT, SPECIALS, TURN_END, Vocabulary

_TOKEN_NORMAL, _TOKEN_CONTROL = 1, 3


class Dtype(StrEnum):
    """How matrices are kept. Norms, decays and convolutions are f32 always: llama.cpp asks for that."""

    F32 = "f32"
    F16 = "f16"


_FILE_TYPES = {Dtype.F32: 0, Dtype.F16: 1}


def write(blueprint: Blueprint, vocabulary: Vocabulary, name: str, seed: int, dtype: Dtype, target: Path) -> None:
    try:
        import gguf

        from harness.models.zoo import weights
    except ImportError as err:
        raise ModelMissing(
            f"{name} is made with the package {err.name}, which is not installed", "pip install 'kvgate[real]'"
        ) from err
    writer = gguf.GGUFWriter(target, blueprint.architecture)
    writer.add_name(f"{name}, seed {seed}")
    writer.add_file_type(_FILE_TYPES[dtype])
    for key, value in blueprint.settings:
        _add(writer, f"{blueprint.architecture}.{key}", value)
    writer.add_uint32(f"{blueprint.architecture}.vocab_size", len(vocabulary.tokens))
    _add_vocabulary(writer, vocabulary)
    for tensor in blueprint.tensors:
        numbers = weights.draw(tensor, seed, vocabulary.unsayable)
        halved = dtype is Dtype.F16 and not isinstance(tensor.fill, Around)
        writer.add_tensor(tensor.name, numbers.astype("float16") if halved else numbers)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _add(writer: Any, key: str, value: Setting) -> None:
    """By the value's own type, bool before int since a bool is one."""
    add: Callable[[str, Any], None]
    match value:
        case bool():
            add = writer.add_bool
        case int():
            add = writer.add_uint32
        case float():
            add = writer.add_float32
        case str():
            add = writer.add_string
        case tuple():
            value, add = list(value), writer.add_array  # type: ignore[assignment]
    add(key, value)


def _add_vocabulary(writer: Any, vocabulary: Vocabulary) -> None:
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(vocabulary.tokens)
    writer.add_token_types([_TOKEN_CONTROL if token in SPECIALS else _TOKEN_NORMAL for token in vocabulary.tokens])
    writer.add_token_merges(vocabulary.merges)
    writer.add_bos_token_id(vocabulary.id_of(END_OF_TEXT))
    writer.add_eos_token_id(vocabulary.id_of(TURN_END))
    writer.add_add_bos_token(False)
    writer.add_chat_template(CHAT_TEMPLATE)
