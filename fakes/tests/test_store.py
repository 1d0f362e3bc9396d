"""The decoder's memory: laid out as it is lent, sealed, and read as it is now."""

import mmap
import os

import pytest

from fakes.store import RowStore
from wire.region import Cells, check_layout


@pytest.fixture
def store():
    one = RowStore(layers=2, row_bytes=32, n_cells=300)
    yield one
    one.close()


def test_the_layout_is_one_that_a_router_accepts(store):
    check_layout(store.regions, store.tensors, Cells(0, 300))
    assert [tensor.name for tensor in store.tensors] == ["cache_k_l0", "cache_v_l0", "cache_k_l1", "cache_v_l1"]
    assert all(tensor.offset % 4096 == 0 for tensor in store.tensors)


def test_a_descriptor_has_the_regions_exact_size_and_cannot_be_resized(store):
    for fd, region in zip(store.fds, store.regions, strict=True):
        assert os.fstat(fd).st_size == region.size
        for size in (region.size - 4096, region.size + 4096):
            with pytest.raises(PermissionError):
                os.ftruncate(fd, size)


def test_rows_are_read_back_as_written(store):
    rows = [bytes([i]) * 64 for i in range(4)]
    store.write(7, rows)
    assert [bytes(part) for part in store.read(7, 2)] == rows
    assert store.cell(8) == b"".join(bytes([i]) * 32 for i in range(4))


def test_what_somebody_else_writes_is_what_is_read(store):
    tensor = store.tensors[3]
    with mmap.mmap(store.fds[0], store.regions[0].size) as outside:
        at = tensor.offset + 5 * 32
        outside[at : at + 32] = b"z" * 32
    assert bytes(store.read(5, 1)[3]) == b"z" * 32


def test_a_large_cache_lies_in_several_regions():
    large = RowStore(layers=2, row_bytes=4096, n_cells=1 << 17)
    try:
        assert len(large.regions) == len(large.fds) == 2
        check_layout(large.regions, large.tensors, Cells(0, 1))
        large.write(100_000, [bytes([i]) * 4096 for i in range(4)])
        assert large.cell(100_000)[::4096] == bytes(range(4))
    finally:
        large.close()


def test_a_tensor_beyond_a_region_is_refused():
    with pytest.raises(ValueError, match="does not fit a region"):
        RowStore(layers=1, row_bytes=65536, n_cells=1 << 15)
