"""Steps in a scenario file: what they may refer to, and what is refused with its line."""

import textwrap
from pathlib import Path

import pytest

from harness.errors import ScenarioError
from harness.scenario import Scenario
from harness.scenario_file import load
from harness.steps.prompt_parts import EarlierPart, FreshPart
from harness.steps.spec import Action, Complete, Damage, Restart, SlotAction, files_made

GOOD = """\
    scenario: a slot is saved and restored
    under_test: decoder
    decoder: {model: toy}
    steps:
      - {name: cold, slot: 0, complete: {prompt: [{tokens: 20}], n_predict: 4}}
      - {name: saved, slot: 0, save: s.bin}
      - {restart: {args: [--swa-full]}}
      - {damage: {file: d.bin, write_u32: {"4": 9}}}
      - {name: back, slot: 1, restore: s.bin}
      - {name: again, once: cold, complete: {prompt: [{prompt_of: cold, drop: 1}, {reply_of: cold, first: 2}]}}
    checks:
      one: {step: {cache_n: 19}, request: again}
      two: {step.parity: {of: again, same_as: cold}}
    """


def loaded(tmp_path: Path, text: str) -> Scenario:
    file = tmp_path / "suite" / "s.yaml"
    file.parent.mkdir()
    file.write_text(textwrap.dedent(text))
    return load(file)


def test_steps_are_read_as_values(tmp_path: Path) -> None:
    cold, saved, restart, damage, back, again = loaded(tmp_path, GOOD).steps
    assert cold.act == Complete((FreshPart(20),), 4)
    assert saved.act == SlotAction(Action.SAVE, "s.bin")
    assert (restart.name, restart.act) == ("3", Restart(args=("--swa-full",)))
    assert damage.act == Damage("d.bin", write_u32={4: 9})
    assert (back.slot, back.act) == (1, SlotAction(Action.RESTORE, "s.bin"))
    assert again.act == Complete((EarlierPart("cold", False, drop=1), EarlierPart("cold", True, first=2)))
    assert (again.slot, again.once) == (None, "cold")


def test_files_that_steps_ask_for_are_known(tmp_path: Path) -> None:
    assert files_made(loaded(tmp_path, GOOD).steps) == {"s.bin", "d.bin"}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("under_test: decoder", "under_test: router", r"steps are done to a decoder"),
        ("prompt_of: cold", "prompt_of: saved", r"step again: no earlier step that has a prompt is called 'saved'"),
        ("once: cold", "once: later", r"step again: no earlier step that has a prompt is called 'later'"),
        ("name: back", "name: cold", r"two steps are called 'cold'"),
        ("request: again", "request: agian", r"no step is called 'agian'; did you mean 'again'"),
        ("same_as: cold", "same_as: clod", r"no step is called 'clod'; did you mean 'cold'"),
        ("of: again, same_as: cold", "of: again", r"expected one of same_as, differs_from"),
        ("slot: 0, save", "save", r"save needs a slot"),
        ("save: s.bin", "save: s.bin, erase: true", r"expected one of complete, save"),
        ("{tokens: 20}", "{tokens: 20, first: 2}", r"first and drop go with prompt_of and reply_of"),
        ("drop: 1", "drop: 1, first: 3", r"expected one of first, drop"),
        ("{tokens: 20}", "{}", r"expected one of tokens, prompt_of, reply_of"),
        ("file: d.bin", "file: ../d.bin", r"expected a file's name"),
        ('write_u32: {"4": 9}', "keep_bytes: 1, flip_bytes: 2", r"expected one of keep_bytes"),
        ("{cache_n: 19}", "{cashe_n: 19}", r"unknown field; did you mean 'cache_n'"),
        ("    steps:", "    budget_s: 30\n    steps:", r"30 s do not exceed the deadlines, 60 s together"),
        ("    steps:", "    requests: [{prompt: hello}]\n    steps:", r"expected one of requests, steps"),
    ],
)
def test_what_makes_no_sense_is_refused(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in GOOD
    with pytest.raises(ScenarioError, match=said) as refused:
        loaded(tmp_path, GOOD.replace(old, new))
    assert "s.yaml:" in str(refused.value)
