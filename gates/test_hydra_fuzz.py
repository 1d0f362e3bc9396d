"""A tenth of the Hydra fuzz run; `python -m gates.fuzz.hydra` is the whole of it."""

import pytest

from gates.fuzz.hydra import Fell, fuzz
from wire import decode_legacy


def test_a_thousand_mutated_inputs_are_survived():
    assert fuzz(1000, seed=2) == 100


def test_the_fuzzer_sees_a_codec_that_falls(monkeypatch):
    def falls(self, data):
        return {}[data]

    monkeypatch.setattr(decode_legacy.PieceDecoder, "receive", falls)
    with pytest.raises(Fell, match="KeyError"):
        fuzz(10, seed=1, engine=False)


def test_the_fuzzer_sees_a_codec_that_takes_what_is_announced(monkeypatch):
    def takes(self, data):
        return bytes(64 << 20)

    monkeypatch.setattr(decode_legacy.PieceDecoder, "receive", takes)
    with pytest.raises(Fell, match="bytes were taken"):
        fuzz(10, seed=1, engine=False)
