"""The zoo: the same bytes each time, other bytes for another seed, and a vocabulary that any text fits."""

import hashlib
from pathlib import Path

import pytest

from harness.models import zoo
from harness.models.gguf_head import read_head
from harness.models.memory import Memory
from harness.models.zoo import vocabulary
from harness.models.zoo.gguf_file import Dtype

pytest.importorskip("gguf")


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KVGATE_CACHE", str(tmp_path / "cache"))


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("name", zoo.ARCHITECTURES)
def test_each_model_is_made_with_the_bytes_known_of_it(name: str, tmp_path: Path) -> None:
    zoo.write(name, tmp_path / "once")
    zoo.write(name, tmp_path / "twice")
    assert digest(tmp_path / "once") == digest(tmp_path / "twice") == zoo.SHA256[name]


def test_another_seed_makes_another_model(tmp_path: Path) -> None:
    zoo.write("tiny-llama", tmp_path / "other", seed=2)
    assert digest(tmp_path / "other") != zoo.SHA256["tiny-llama"]


def test_f16_halves_the_matrices_and_leaves_the_norms(tmp_path: Path) -> None:
    zoo.write("tiny-mamba", tmp_path / "half", dtype=Dtype.F16)
    assert read_head(tmp_path / "half").types == {"f16", "f32"}


def test_every_kind_of_memory_is_there() -> None:
    assert {zoo.blueprint(name).memory for name in zoo.ARCHITECTURES} == set(Memory)


def test_a_damaged_file_in_the_cache_is_made_anew() -> None:
    path = zoo.make("tiny-lfm2")
    path.write_bytes(path.read_bytes()[:-1])
    assert digest(zoo.make("tiny-lfm2")) == zoo.SHA256["tiny-lfm2"]


def test_the_vocabulary_is_full_and_every_token_is_another() -> None:
    made = vocabulary.make()
    assert len(made.tokens) == len(set(made.tokens)) == vocabulary.SIZE


def test_every_merge_joins_two_tokens_that_are_there_before_it() -> None:
    made = vocabulary.make()
    known = set(vocabulary.byte_letters())
    for merge in made.merges:
        left, right = merge.split(" ")
        assert {left, right} <= known
        known.add(left + right)


def test_only_printable_text_can_be_said() -> None:
    made = vocabulary.make()
    letters = vocabulary.byte_letters()
    sayable = {made.tokens[i] for i in range(len(made.tokens)) if i not in made.unsayable}
    assert {token for token in sayable if len(token) == 1} == {letters[byte] for byte in range(0x20, 0x7F)}
    assert not sayable & set(vocabulary.SPECIALS)
