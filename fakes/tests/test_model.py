"""The toy model: its answer depends on the bytes of all rows, and on nothing else."""

from hypothesis import given
from hypothesis import strategies as st

from fakes.model import ToyModel
from fakes.spec import parse_spec
from fakes.tokenizer import EOS_ID

SMALL = ToyModel(parse_spec("toy:layers=2,row_bytes=16,vocab=400"))


def reply(model: ToyModel, cells: list[bytes], n: int = 6) -> list[int]:
    """Greedy tokens behind these cells."""
    sums, last, out = model.sums(model.rows(cells)), cells[-1], []
    for _ in range(n):
        out.append(model.next_token(sums))
        last, sums = model.follow(out[-1], last, sums)
    return out


def test_any_flipped_byte_changes_the_answer():
    cells = SMALL.cells(range(300, 308))
    honest = reply(SMALL, cells)
    for cell in range(len(cells)):
        for byte in range(SMALL.cell_bytes):
            changed = list(cells)
            changed[cell] = bytes(b ^ (1 if i == byte else 0) for i, b in enumerate(cells[cell]))
            assert reply(SMALL, changed) != honest, f"cell {cell}, byte {byte}"


def test_missing_swapped_and_shifted_cells_change_the_answer():
    cells = SMALL.cells(range(300, 308))
    honest = reply(SMALL, cells)
    blank = [bytes(SMALL.cell_bytes)]
    assert reply(SMALL, cells[:3] + blank + cells[4:]) != honest
    assert reply(SMALL, [cells[1], cells[0], *cells[2:]]) != honest
    assert reply(SMALL, [*blank, *cells[:-1]]) != honest
    assert reply(SMALL, cells[1:]) != honest


def test_k_under_v_changes_the_answer():
    cells = SMALL.cells(range(300, 308))
    swapped = [cell[16:32] + cell[:16] + cell[32:] for cell in cells]
    assert reply(SMALL, swapped) != reply(SMALL, cells)


@given(st.lists(st.integers(0, 399), min_size=2, max_size=30), st.data())
def test_a_prompt_may_be_evaluated_in_any_pieces(tokens, data):
    cut = data.draw(st.integers(1, len(tokens) - 1))
    front = SMALL.cells(tokens[:cut])
    whole = SMALL.cells(tokens)
    assert front + SMALL.cells(tokens[cut:], front[-1]) == whole
    halves = SMALL.sums(SMALL.rows(whole[cut:]), SMALL.sums(SMALL.rows(whole[:cut])))
    assert halves == SMALL.sums(SMALL.rows(whole))


@given(st.lists(st.integers(0, 399), min_size=1, max_size=20), st.integers(0, 19))
def test_a_row_depends_on_every_token_before_it(tokens, at):
    at %= len(tokens)
    other = list(tokens)
    other[at] ^= 1
    left, right = SMALL.cells(tokens), SMALL.cells(other)
    assert left[:at] == right[:at]
    assert all(a != b for a, b in zip(left[at:], right[at:], strict=True))


def test_following_token_by_token_is_the_same_as_evaluating():
    tokens = list(range(300, 310))
    cells = SMALL.cells(tokens)
    last, sums = cells[4], SMALL.sums(SMALL.rows(cells[:5]))
    for token, cell in zip(tokens[5:], cells[5:], strict=True):
        last, sums = SMALL.follow(token, last, sums)
        assert last == cell
    assert sums == SMALL.sums(SMALL.rows(cells))


def test_another_seed_has_other_rows_and_other_answers():
    other = ToyModel(parse_spec("toy:seed=2,layers=2,row_bytes=16,vocab=400"))
    cells = SMALL.cells(range(300, 308))
    assert other.cells(range(300, 308)) != cells
    assert reply(other, cells) != reply(SMALL, cells)


def test_the_text_is_varied_and_never_ends_by_itself():
    model = ToyModel(parse_spec("toy"))
    out = reply(model, model.cells([0, 300, 301]), 300)
    assert len(set(out)) > 200
    assert EOS_ID not in out


def test_it_ends_where_the_spec_wants_an_end():
    model = ToyModel(parse_spec("toy:eos=8"))
    out = reply(model, model.cells([0, 300]), 400)
    assert 20 <= out.count(EOS_ID) <= 90
    sums = model.sums(model.rows(model.cells([0, 300])))
    assert all(model.next_token([s + i for s in sums], ignore_eos=True) != EOS_ID for i in range(100))
