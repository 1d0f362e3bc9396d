"""What a value has to be: the small language that stands on the right of an observable.

    30                          the very value; 30 is not "30" and not true
    {min: 1}  {max: 2}          bounds, both included; {above: 0} and {below: 5} exclude theirs
    {not: null}                 anything else
    {one_of: [1, 2]}
    {contains: text}            part of a text, or one item of a list
    {matches: regex}            somewhere in a text
    {length: 3}                 of a list or text; a number or another of these
    {some: {...}}  {each: {...}}  of a list's items; the items' own fields, or any of these
    {same_as: decoder.share.slot}  equal to what another record says; `prompt.tokens` is the request's own prompt

An expectation only says what is wrong with one value. It never sees where the value came from.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from yaml.nodes import MappingNode, Node

from harness.checks.judge import short
from harness.near import did_you_mean
from harness.shapes import JsonSchema, ListOf, Number, Place, Plain, Regex, Shape, Text, entries

Lookup = Callable[[str], Any]
"""Gives what a `same_as` path names; raises `CannotCompare`, or LookupError where a whole record lacks it."""


class Expectation(Protocol):
    def wrong(self, value: Any, lookup: Lookup) -> str | None:
        """What is wrong with the value, as `expected ..., seen ...`, or None."""


@dataclass(frozen=True, slots=True)
class Is:
    value: Any

    def wrong(self, value: Any, lookup: Lookup) -> str | None:
        return None if same(value, self.value) else f"expected {short(self.value)}, seen {short(value)}"


@dataclass(frozen=True, slots=True)
class Not:
    value: Any

    def wrong(self, value: Any, lookup: Lookup) -> str | None:
        return f"expected anything but {short(self.value)}" if same(value, self.value) else None


@dataclass(frozen=True, slots=True)
class OneOfThese:
    values: Sequence[Any]

    def wrong(self, value: Any, lookup: Lookup) -> str | None:
        if any(same(value, each) for each in self.values):
            return None
        return f"expected one of {short(list(self.values))}, seen {short(value)}"


@dataclass(frozen=True, slots=True)
class Bound:
    """One comparison with a number; `word` is its name in the file."""

    word: str
    limit: int | float

    def wrong(self, value: Any, lookup: Lookup) -> str | None:
        if not isinstance(value, int | float) or isinstance(value, bool):
            return f"expected a number, seen {short(value)}"
        return None if _COMPARE[self.word](value, self.limit) else f"expected {self._said()}, seen {value}"

    def _said(self) -> str:
        words = {"min": "at least", "max": "at most", "above": "above", "below": "below"}
        return f"{words[self.word]} {self.limit}"


_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "min": lambda value, limit: value >= limit,
    "max": lambda value, limit: value <= limit,
    "above": lambda value, limit: value > limit,
    "below": lambda value, limit: value < limit,
}


@dataclass(frozen=True, slots=True)
class Contains:
    part: Any

    def wrong(self, value: Any, lookup: Lookup) -> str | None:
        if isinstance(value, str) and isinstance(self.part, str):
            held = self.part in value
        else:
            held = isinstance(value, list | tuple) and any(same(each, self.part) for each in value)
        return None if held else f"expected it to contain {short(self.part)}, seen {short(value)}"


@dataclass(frozen=True, slots=True)
class Matches:
    pattern: re.Pattern[str]

    def wrong(self, value: Any, lookup: Lookup) -> str | None:
        if isinstance(value, str) and self.pattern.search(value):
            return None
        return f"expected a match of /{self.pattern.pattern}/, seen {short(value)}"


@dataclass(frozen=True, slots=True)
class Length:
    expected: Expectation

    def wrong(self, value: Any, lookup: Lookup) -> str | None:
        if not isinstance(value, list | tuple | str | dict):
            return f"expected something that has a length, seen {short(value)}"
        finding = self.expected.wrong(len(value), lookup)
        return None if finding is None else f"length: {finding}"


@dataclass(frozen=True, slots=True)
class Each:
    expected: Expectation

    def wrong(self, value: Any, lookup: Lookup) -> str | None:
        if not isinstance(value, list | tuple) or not value:
            return f"expected a list that is not empty, seen {short(value)}"
        findings = ((index, self.expected.wrong(item, lookup)) for index, item in enumerate(value))
        return next((f"item {index}: {finding}" for index, finding in findings if finding is not None), None)


@dataclass(frozen=True, slots=True)
class Some:
    expected: Expectation

    def wrong(self, value: Any, lookup: Lookup) -> str | None:
        if not isinstance(value, list | tuple) or not value:
            return f"expected a list that is not empty, seen {short(value)}"
        findings = [self.expected.wrong(item, lookup) for item in value]
        return None if None in findings else f"no item fits: {findings[0]}"


@dataclass(frozen=True, slots=True)
class SameAs:
    """Equal to what another record says; where that holds a list, equal to one of its items."""

    path: str

    def wrong(self, value: Any, lookup: Lookup) -> str | None:
        try:
            other = lookup(self.path)
        except LookupError as error:
            return f"expected the same as {self.path}, but {error.args[0]}"
        if same(value, other) or (isinstance(other, list) and any(same(value, each) for each in other)):
            return None
        return f"expected the same as {self.path}, {short(other)}, seen {short(value)}"


@dataclass(frozen=True, slots=True)
class All:
    """Several expectations of one value."""

    parts: tuple[Expectation, ...]

    def wrong(self, value: Any, lookup: Lookup) -> str | None:
        findings = (part.wrong(value, lookup) for part in self.parts)
        return next((finding for finding in findings if finding is not None), None)


@dataclass(frozen=True, slots=True)
class FieldsAre:
    """Each named field of a mapping is as expected."""

    fields: Mapping[str, Expectation]

    def wrong(self, value: Any, lookup: Lookup) -> str | None:
        if not isinstance(value, Mapping):
            return f"expected a mapping, seen {short(value)}"
        findings = [
            f"{name}: expected it to be there" if name not in value else _named(name, part.wrong(value[name], lookup))
            for name, part in self.fields.items()
        ]
        return ", ".join(each for each in findings if each is not None) or None


def _named(name: str, finding: str | None) -> str | None:
    return None if finding is None else f"{name}: {finding}"


def same(left: Any, right: Any) -> bool:
    """Equality that tells true from 1, and a text from a number. A tuple equals a list of the same items."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(same(a, b) for a, b in zip(left, right, strict=True))
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    return bool(left == right)


@dataclass(frozen=True, slots=True)
class Expected:
    """The shape of an expectation. `paths` says which `same_as` there may be."""

    paths: Callable[[], Sequence[str]]

    def parse(self, node: Node, place: Place) -> Expectation:
        if not isinstance(node, MappingNode):
            return Is(Plain().parse(node, place))
        found = entries(node, place)
        operators = self._operators()
        for key, key_node, _ in found:
            if key not in operators:
                (place / key).refuse(key_node, f"unknown comparison{did_you_mean(key, operators)}")
        if not found:
            place.refuse(node, "expected a value or a comparison, found an empty mapping")
        parts = tuple(_BUILD[key](operators[key].parse(item, place / key)) for key, _, item in found)
        return parts[0] if len(parts) == 1 else All(parts)

    def _operators(self) -> dict[str, Shape[Any]]:
        return {
            **{word: Number() for word in _COMPARE},
            "not": _Value(),
            "one_of": ListOf(Plain(), least=1),
            "contains": Plain(),
            "matches": Regex(),
            "length": self,
            "each": _Item(self),
            "some": _Item(self),
            "same_as": _Path(self.paths),
        }

    def schema(self) -> JsonSchema:
        return {"$ref": "#/$defs/expectation"}

    def definition(self) -> JsonSchema:
        """What `schema` refers to; it stands once in the published schema, since it contains itself."""
        operators = {word: shape.schema() for word, shape in self._operators().items()}
        mapping = {"type": "object", "additionalProperties": False, "minProperties": 1, "properties": operators}
        return {"anyOf": [mapping, {"type": ["string", "number", "boolean", "null", "array"]}]}


_BUILD: dict[str, Callable[[Any], Expectation]] = {
    "min": lambda limit: Bound("min", limit),
    "max": lambda limit: Bound("max", limit),
    "above": lambda limit: Bound("above", limit),
    "below": lambda limit: Bound("below", limit),
    "not": Not,
    "one_of": OneOfThese,
    "contains": Contains,
    "matches": Matches,
    "length": Length,
    "each": Each,
    "some": Some,
    "same_as": SameAs,
}


@dataclass(frozen=True, slots=True)
class _Value:
    """What a value must not be. A comparison in its place would be a mapping that nothing equals: always ok."""

    def parse(self, node: Node, place: Place) -> Any:
        if isinstance(node, MappingNode):
            place.refuse(node, "expected a value, found a mapping: a comparison cannot be turned round")
        return Plain().parse(node, place)

    def schema(self) -> JsonSchema:
        return {"type": ["string", "number", "boolean", "null", "array"]}


@dataclass(frozen=True, slots=True)
class _Item:
    """An item of a list: a mapping by its fields (free names), anything else by an expectation."""

    expected: Expected

    def parse(self, node: Node, place: Place) -> Expectation:
        if isinstance(node, MappingNode) and not any(key in _BUILD for key, _, _ in entries(node, place)):
            return FieldsAre({key: self.expected.parse(item, place / key) for key, _, item in entries(node, place)})
        return self.expected.parse(node, place)

    def schema(self) -> JsonSchema:
        free = {"type": "object", "additionalProperties": {"$ref": "#/$defs/expectation"}}
        return {"anyOf": [{"$ref": "#/$defs/expectation"}, free]}


@dataclass(frozen=True, slots=True)
class _Path:
    """A `same_as` path."""

    paths: Callable[[], Sequence[str]]

    def parse(self, node: Node, place: Place) -> str:
        path = Text(means="a path such as decoder.share.slot").parse(node, place)
        known = self.paths()
        if path not in known:
            place.refuse(node, f"nothing is called {path!r}{did_you_mean(path, known)}")
        return path

    def schema(self) -> JsonSchema:
        return {"enum": list(self.paths())}


@dataclass(frozen=True, slots=True)
class FieldsExpected:
    """The shape of `{field: expectation, ...}` with known fields."""

    known: tuple[str, ...]
    expected: Expected

    def parse(self, node: Node, place: Place) -> FieldsAre:
        found = entries(node, place, "a mapping of fields")
        for key, key_node, _ in found:
            if key not in self.known:
                (place / key).refuse(key_node, f"unknown field{did_you_mean(key, self.known)}")
        return FieldsAre({key: self.expected.parse(item, place / key) for key, _, item in found})

    def schema(self) -> JsonSchema:
        properties = {name: self.expected.schema() for name in self.known}
        return {"type": "object", "additionalProperties": False, "properties": properties}
