"""The five rows of the prompt match, the search for a checkpoint, and the table of a DECODE's states."""

from itertools import product

import pytest

from fakes.engine.apply_states import ENDED, HOLDS_RESERVATION, TRANSITIONS, ApplyEvent, ApplyState, moved
from fakes.engine.checkpoints import Snapshot, Why, find_resume
from fakes.engine.entries import LIFETIME_S, MAX_ENTRIES, READINGS, Entries, EntryState, Reading
from fakes.engine.prompt_match import Row, match_prompt

SLOT = (1, 2, 3, 4, 5)


@pytest.mark.parametrize(
    ("prompt", "options", "row", "n_past", "evaluated"),
    [
        ((1, 2, 3, 4, 5), {"restored_logits": True}, Row.RESTORED_LOGITS, 4, 1),
        ((1, 2, 3, 4, 5), {}, Row.EXACT, 4, 1),
        ((1, 2, 3, 4), {"restored_logits": True}, Row.EXACT, 3, 1),
        ((1, 2, 9, 4, 5), {"restored_logits": True}, Row.DIVERGED, 2, 3),
        ((9,), {}, Row.DIVERGED, 0, 1),
        ((1, 2, 3, 4, 5, 6, 7), {"restored_logits": True}, Row.EXTENDED, 5, 2),
        ((1, 2, 3, 4, 5), {"cache_prompt": False}, Row.NOT_CACHED, 0, 5),
    ],
)
def test_each_row_of_the_table(prompt, options, row, n_past, evaluated):
    match = match_prompt(SLOT, prompt, **options)
    assert (match.row, match.n_past, match.evaluated) == (row, n_past, evaluated)
    assert match.logits_reused is (row is Row.RESTORED_LOGITS)


def test_a_slot_without_tokens_matches_nothing():
    match = match_prompt((), SLOT)
    assert (match.n_slot, match.n_common, match.n_past, match.evaluated) == (0, 0, 0, 5)


def at(n_tokens, *, recurrent_only=True):
    return Snapshot(n_tokens - 1, n_tokens - 1, n_tokens, recurrent_only, b"")


@pytest.mark.parametrize(
    ("n_past", "snapshots", "memory_end", "just_restored", "expected", "why"),
    [
        (30, [], 30, False, 30, Why.EXTENDS),
        (29, [at(29)], 30, False, 29, Why.CHECKPOINT),
        (29, [at(10), at(29)], 30, False, 29, Why.CHECKPOINT),
        (20, [at(10), at(29)], 30, True, 10, Why.CHECKPOINT),
        (29, [], 30, True, 29, Why.JUST_RESTORED),
        (29, [], 30, False, 0, Why.NONE),
        (5, [at(10)], 30, False, 0, Why.NONE),
        (0, [], 30, True, 0, Why.NONE),
    ],
)
def test_recurrent_memory_resumes_from_a_checkpoint_or_is_believed_once(
    n_past, snapshots, memory_end, just_restored, expected, why
):
    resume = find_resume(n_past, snapshots, recurrent=True, memory_end=memory_end, just_restored=just_restored)
    assert (resume.n_past, resume.why) == (expected, why)


def test_attention_memory_is_cut_anywhere_and_checkpoints_beyond_the_cut_are_dropped():
    resume = find_resume(12, [at(10), at(29)], recurrent=False, memory_end=30, just_restored=False)
    assert (resume.n_past, resume.why, resume.kept) == (12, Why.ATTENTION, (at(10),))


def test_every_working_state_can_fail_and_be_cancelled_and_no_ended_one_moves():
    for state, event in product(ApplyState, (ApplyEvent.FAIL, ApplyEvent.CANCEL)):
        works = state is not ApplyState.CHECKING and state not in ENDED
        assert ((state, event) in TRANSITIONS) is works
    assert not [state for state, _ in TRANSITIONS if state in ENDED]
    with pytest.raises(KeyError):
        moved(ApplyState.DONE, ApplyEvent.FAIL)


def test_the_good_way_holds_the_reservation_until_the_prompt_is_matched():
    state, held = ApplyState.CHECKING, []
    for event in ("ACCEPT", "RESIDENT", "PASS", "RESTORED", "MATCHED", "END"):
        state = moved(state, ApplyEvent[event])
        held.append(state in HOLDS_RESERVATION)
    assert state is ApplyState.DONE
    assert held == [True, True, True, False, False, False]


def test_every_state_of_an_entry_has_an_answer_with_and_without_a_stream():
    assert set(READINGS) == set(product(EntryState, (False, True)))


def test_a_failed_entry_is_gone_after_its_first_read():
    entries = Entries()
    entry = entries.add(0, now=0.0)
    assert entries.read(entry.request_id, 1.0, stream=False) == (Reading.PROGRESS, entry)
    entry.state = EntryState.FAILED
    assert entries.read(entry.request_id, 1.0, stream=True) == (Reading.MESSAGE, entry)
    assert entries.read(entry.request_id, 1.0, stream=True) == (Reading.UNKNOWN, None)


def test_entries_are_forgotten_by_age_and_by_number():
    entries = Entries()
    first = entries.add(0, now=0.0)
    assert entries.maybe(first.request_id, LIFETIME_S) is first
    assert entries.maybe(first.request_id, LIFETIME_S + 1) is None
    ids = [entries.add(0, now=500.0).request_id for _ in range(MAX_ENTRIES + 1)]
    assert len(entries) == MAX_ENTRIES
    assert entries.maybe(ids[0], 500.0) is None
    assert entries.maybe(ids[-1], 500.0) is not None
