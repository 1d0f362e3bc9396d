"""What the harness fills in where a scenario or a profile has braces."""

from pathlib import Path

from harness.plan import Addresses, Folders, Options, decoder_flags, fake_decoder_argv, template_values
from harness.profiles import TEMPLATES
from harness.scenario import PROVIDER_TEMPLATES, ROUTER_TEMPLATES, DecoderSpec

FOLDERS = Folders(Path("evidence"), Path("scratch"))


def test_every_template_that_may_be_written_has_a_value():
    values = template_values(FOLDERS, Addresses())
    assert set(values) == set(ROUTER_TEMPLATES)
    assert set(PROVIDER_TEMPLATES) < set(ROUTER_TEMPLATES)
    assert set(PROVIDER_TEMPLATES) < set(TEMPLATES)


def test_a_real_decoder_is_given_the_file_of_the_model_that_was_named():
    flags = decoder_flags(DecoderSpec(real=True, model="default"), "/m.gguf", FOLDERS, Options(model="tiny-qwen3"))
    assert flags[:2] == ["-m", "/m.gguf"]


def test_a_fake_is_given_the_model_as_it_was_said():
    said = DecoderSpec(model="toy:bos=0")
    assert fake_decoder_argv(said, "decoder", FOLDERS, Options(), 1)[:2] == ["-m", "toy:bos=0"]
    assert fake_decoder_argv(said, "decoder", FOLDERS, Options(model="toy:bos=1"), 1)[:2] == ["-m", "toy:bos=1"]
