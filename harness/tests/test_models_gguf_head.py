"""The head of a GGUF file is believed only as far as the bytes go."""

import struct
from pathlib import Path

import pytest

from harness.models.errors import ModelDamaged
from harness.models.gguf_head import read_head


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value)) + value.encode()


def gguf(*, version: int = 3, tensors: bytes = b"", n_tensors: int = 0, data: int = 0) -> bytes:
    """A file with an architecture, an array to be stepped over, a name and a number, laid down by hand."""
    values = text("general.architecture") + struct.pack("<I", 8) + text("toy")
    values += text("tokens") + struct.pack("<IIQ", 9, 8, 2) + text("a") + text("bc")
    values += text("general.name") + struct.pack("<I", 8) + text("Toy")
    values += text("toy.block_count") + struct.pack("<II", 4, 7)
    head = b"GGUF" + struct.pack("<IQQ", version, n_tensors, 4) + values + tensors
    return head + bytes(-len(head) % 32) + bytes(data)


def tensor(name: str, shape: tuple[int, ...], kind: int, offset: int) -> bytes:
    return text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, offset)


TWO = tensor("a", (32, 2), 3, 0) + tensor("b", (8,), 0, 64)  # 2 blocks of q4_1, 40 bytes, then 32 bytes of f32


def written(tmp_path: Path, data: bytes) -> Path:
    path = tmp_path / "m.gguf"
    path.write_bytes(data)
    return path


def test_it_says_what_the_model_is(tmp_path: Path) -> None:
    head = read_head(written(tmp_path, gguf(tensors=TWO, n_tensors=2, data=96)))
    assert (head.architecture, head.name, head.block_count, head.n_tensors) == ("toy", "Toy", 7, 2)
    assert head.types == {"q4_1", "f32"}
    assert head.quantised


def test_floats_alone_are_not_quantised(tmp_path: Path) -> None:
    assert not read_head(written(tmp_path, gguf(tensors=tensor("b", (8,), 1, 0), n_tensors=1, data=16))).quantised


def test_a_file_one_byte_short_of_its_last_tensor_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelDamaged, match="cut short"):
        read_head(written(tmp_path, gguf(tensors=TWO, n_tensors=2, data=95)))


def test_a_head_cut_anywhere_is_refused(tmp_path: Path) -> None:
    whole = gguf(tensors=TWO, n_tensors=2)
    for length in range(len(whole)):
        with pytest.raises(ModelDamaged):
            read_head(written(tmp_path, whole[:length]))


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"PK\x03\x04" + bytes(100), "not a GGUF file"),
        (gguf(version=99), "GGUF version 99"),
        (b"GGUF" + struct.pack("<IQQ", 3, 1 << 60, 1), "damaged GGUF file"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 1 << 62), "damaged GGUF file"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 0) + bytes(64), "names no architecture"),
    ],
)
def test_junk_is_named(tmp_path: Path, data: bytes, said: str) -> None:
    path = written(tmp_path, data)
    with pytest.raises(ModelDamaged, match=said) as refused:
        read_head(path)
    assert str(path) in str(refused.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelDamaged, match="No such file"):
        read_head(tmp_path / "none.gguf")
