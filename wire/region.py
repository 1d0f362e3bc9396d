"""The layout of a shared KV region, and the one message with which a decoder sends it.

The message is a 4-byte little-endian length and a JSON header. The descriptors travel beside its first byte
and are not seen here. A region is a piece of a descriptor (`offset`, `size`); tensors lie in a region
position-major, row after row of one cell each, every tensor at a 4 KiB boundary.

Knows nothing of sockets, of mappings, or of what stands in a row.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from wire.errors import LocalWireError, RemoteWireError
from wire.fields import objects, one_object, parse_object, text, whole

ALIGNMENT = 4096
MAX_MESSAGE_BYTES = 1 << 20
MAX_REGION_BYTES = 1 << 30
MAX_REGIONS = 16
MAX_TENSORS = 4096
MAX_ROW_BYTES = 1 << 20
MAX_CELLS = 1 << 24

_LENGTH = struct.Struct("<I")
_FNV_OFFSET = 0xCBF29CE484222325
_FNV_PRIME = 0x100000001B3


@dataclass(frozen=True, slots=True)
class Tensor:
    """K or V of one layer, e.g. `cache_k_l0`: `n_cells` rows of `row_bytes` at `offset` within its region."""

    name: str
    region: int
    offset: int
    row_bytes: int
    type: str
    n_cells: int


@dataclass(frozen=True, slots=True)
class Region:
    """A piece of the descriptor of the same index. `layout` is `layout_hash` of the tensors in it."""

    size: int
    offset: int
    layout: str


@dataclass(frozen=True, slots=True)
class Cells:
    """The cells of the shared slot: nobody writes others."""

    first: int
    count: int


@dataclass(frozen=True, slots=True)
class ShareHeader:
    """What a decoder says about the regions it lends."""

    share_id: str
    regions: tuple[Region, ...]
    tensors: tuple[Tensor, ...]
    cells: Cells


def layout_hash(tensors: Iterable[Tensor]) -> str:
    """FNV-1a 64, as 16 hex digits, over one `name:type:row_bytes:n_cells` line for each tensor in order."""
    value = _FNV_OFFSET
    for tensor in tensors:
        for byte in f"{tensor.name}:{tensor.type}:{tensor.row_bytes}:{tensor.n_cells}\n".encode():
            value = ((value ^ byte) * _FNV_PRIME) & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


def row_span(tensor: Tensor, cell: int) -> tuple[int, int]:
    """Where the row of `cell` lies within its region: (offset, size)."""
    if not 0 <= cell < tensor.n_cells:
        raise LocalWireError(f"cell {cell} of {tensor.name}, which has {tensor.n_cells}")
    return tensor.offset + cell * tensor.row_bytes, tensor.row_bytes


def tensors_json(tensors: Iterable[Tensor]) -> list[dict[str, Any]]:
    """The tensors in the form of the message."""
    return [
        {
            "name": t.name,
            "region": t.region,
            "offset": t.offset,
            "row_bytes": t.row_bytes,
            "type": t.type,
            "n_cells": t.n_cells,
        }
        for t in tensors
    ]


def encode_share_message(header: ShareHeader) -> bytes:
    """The message. LocalWireError: a header that its reader would refuse."""
    try:
        check_layout(header.regions, header.tensors, header.cells)
    except RemoteWireError as error:
        raise LocalWireError(str(error)) from None
    body = json.dumps(
        {
            "share_id": header.share_id,
            "regions": [{"size": r.size, "offset": r.offset, "layout": r.layout} for r in header.regions],
            "tensors": tensors_json(header.tensors),
            "cells": {"first": header.cells.first, "count": header.cells.count},
        }
    ).encode()
    if len(body) > MAX_MESSAGE_BYTES:
        raise LocalWireError(f"a share header of {len(body)} bytes, allowed are {MAX_MESSAGE_BYTES}")
    return _LENGTH.pack(len(body)) + body


class ShareMessageDecoder:
    """Takes the one message in any pieces. Bytes behind it are an error."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._done = False

    def receive(self, data: bytes) -> ShareHeader | None:
        """The header once it is whole, else None. RemoteWireError: too long, malformed, or bytes behind it."""
        if self._done and data:
            raise RemoteWireError(f"{len(data)} bytes after the share message")
        self._buffer += data
        if len(self._buffer) < _LENGTH.size:
            return None
        (size,) = _LENGTH.unpack_from(self._buffer)
        if not 2 <= size <= MAX_MESSAGE_BYTES:
            raise RemoteWireError(f"a share message of {size} bytes, allowed are 2 to {MAX_MESSAGE_BYTES}")
        extra = len(self._buffer) - _LENGTH.size - size
        if extra > 0:
            raise RemoteWireError(f"{extra} bytes after the share message")
        if extra < 0:
            return None
        self._done = True
        return _header(parse_object(bytes(self._buffer[_LENGTH.size :]), "the share header"))

    def close(self) -> None:
        """The peer closed. RemoteWireError unless the message was whole."""
        if not self._done:
            raise RemoteWireError(f"the share message was cut after {len(self._buffer)} bytes")


def _header(value: dict[str, Any]) -> ShareHeader:
    regions = tuple(
        read_region(item, f"regions[{i}]")
        for i, item in enumerate(objects(value.get("regions"), "regions", MAX_REGIONS))
    )
    tensors, cells = read_tensors(value), read_cells(value)
    check_layout(regions, tensors, cells)
    return ShareHeader(text(value.get("share_id"), "share_id", 128), regions, tensors, cells)


def read_region(item: dict[str, Any], name: str) -> Region:
    """One region out of its JSON object."""
    return Region(
        size=whole(item.get("size"), f"{name}.size", 1, MAX_REGION_BYTES),
        offset=whole(item.get("offset"), f"{name}.offset", 0, 1 << 40),
        layout=text(item.get("layout"), f"{name}.layout", 16),
    )


def read_tensors(value: dict[str, Any]) -> tuple[Tensor, ...]:
    """The tensors out of a header or a provider's request."""
    items = objects(value.get("tensors"), "tensors", MAX_TENSORS)
    return tuple(_tensor(item, f"tensors[{i}]") for i, item in enumerate(items))


def _tensor(item: dict[str, Any], name: str) -> Tensor:
    return Tensor(
        name=text(item.get("name"), f"{name}.name", 128),
        region=whole(item.get("region"), f"{name}.region", 0, MAX_REGIONS - 1),
        offset=whole(item.get("offset"), f"{name}.offset", 0, MAX_REGION_BYTES),
        row_bytes=whole(item.get("row_bytes"), f"{name}.row_bytes", 1, MAX_ROW_BYTES),
        type=text(item.get("type"), f"{name}.type", 32),
        n_cells=whole(item.get("n_cells"), f"{name}.n_cells", 1, MAX_CELLS),
    )


def read_cells(value: dict[str, Any]) -> Cells:
    """The cells out of a header or a provider's request."""
    item = one_object(value.get("cells"), "cells")
    return Cells(
        whole(item.get("first"), "cells.first", 0, MAX_CELLS),
        whole(item.get("count"), "cells.count", 0, MAX_CELLS),
    )


def check_layout(regions: Sequence[Region], tensors: Sequence[Tensor], cells: Cells) -> None:
    """RemoteWireError where regions, tensors and cells contradict each other or a hash is not theirs."""
    if not 1 <= len(regions) <= MAX_REGIONS:
        raise RemoteWireError(f"{len(regions)} regions, allowed are 1 to {MAX_REGIONS}")
    if len({tensor.name for tensor in tensors}) != len(tensors):
        raise RemoteWireError("two tensors of the same name")
    for tensor in tensors:
        _check_tensor(tensor, regions, cells)
    for index, region in enumerate(regions):
        _check_region(region, index, [tensor for tensor in tensors if tensor.region == index])


def _check_tensor(tensor: Tensor, regions: Sequence[Region], cells: Cells) -> None:
    if not 0 <= tensor.region < len(regions):
        raise RemoteWireError(f"{tensor.name} lies in region {tensor.region} of {len(regions)}")
    if tensor.offset < 0 or tensor.offset % ALIGNMENT:
        raise RemoteWireError(f"{tensor.name} starts at {tensor.offset}, not at a multiple of {ALIGNMENT}")
    end = tensor.offset + tensor.row_bytes * tensor.n_cells
    if end > regions[tensor.region].size:
        raise RemoteWireError(f"{tensor.name} ends at {end}, beyond its region of {regions[tensor.region].size}")
    if cells.first < 0 or cells.count < 0 or cells.first + cells.count > tensor.n_cells:
        raise RemoteWireError(
            f"cells {cells.first} to {cells.first + cells.count} of {tensor.name}, which has {tensor.n_cells}"
        )


def _check_region(region: Region, index: int, tensors: Sequence[Tensor]) -> None:
    if not 1 <= region.size <= MAX_REGION_BYTES or region.offset < 0 or region.offset % ALIGNMENT:
        raise RemoteWireError(f"region {index} of {region.size} bytes at {region.offset}")
    for left, right in pairwise(sorted(tensors, key=lambda tensor: tensor.offset)):
        if left.offset + left.row_bytes * left.n_cells > right.offset:
            raise RemoteWireError(f"{left.name} and {right.name} overlap")
    expected = layout_hash(tensors)
    if region.layout != expected:
        raise RemoteWireError(f"region {index} has layout {region.layout}, its tensors have {expected}")
