"""What may stand in a scenario file, as small shapes that check a node and publish themselves as JSON Schema.

One definition serves both, so the published schema and the loader cannot drift apart. A shape knows nothing
of scenarios. Its errors name file, line and key, and a near spelling for a mistyped name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from string import Formatter
from typing import Any, Generic, NoReturn, Protocol, TypeVar

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from harness import marked_yaml
from harness.errors import ScenarioError
from harness.near import did_you_mean

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
JsonSchema = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a shape is being read: the file and the keys that lead there."""

    file: Path | str
    keys: tuple[str, ...] = ()

    def __truediv__(self, key: object) -> Place:
        return Place(self.file, (*self.keys, str(key)))

    def refuse(self, node: Node, problem: str) -> NoReturn:
        raise ScenarioError(self.file, marked_yaml.line(node), ".".join(self.keys), problem)


class Shape(Protocol[T_co]):
    """Something that may stand somewhere."""

    def parse(self, node: Node, place: Place) -> T_co:
        """The value of `node`, or ScenarioError."""

    def schema(self) -> JsonSchema:
        """The same as JSON Schema."""


def _word(node: Node) -> str:
    """What stands there, in an author's words."""
    if isinstance(node, MappingNode):
        return "a mapping"
    if isinstance(node, SequenceNode):
        return "a list"
    found = marked_yaml.value(node)
    return {str: f"the text {found!r}", bool: f"the flag {node.value}", type(None): "nothing"}.get(
        type(found), f"the number {node.value}"
    )


@dataclass(frozen=True, slots=True)
class Text:
    """Text that is not blank; `pattern` must match all of it."""

    pattern: str = ""
    means: str = "text"

    def parse(self, node: Node, place: Place) -> str:
        found = marked_yaml.value(node) if isinstance(node, ScalarNode) else None
        if not isinstance(found, str):
            place.refuse(node, f"expected {self.means}, found {_word(node)}")
        if not found.strip():
            place.refuse(node, f"expected {self.means}, found only blanks")
        if self.pattern and not re.fullmatch(self.pattern, found):
            place.refuse(node, f"expected {self.means}, found {found!r}")
        return found

    def schema(self) -> JsonSchema:
        return {"type": "string", "minLength": 1} | ({"pattern": f"^(?:{self.pattern})$"} if self.pattern else {})


@dataclass(frozen=True, slots=True)
class AnyText:
    """Text, blank or empty too."""

    def parse(self, node: Node, place: Place) -> str:
        found = marked_yaml.value(node)
        if not isinstance(found, str):
            place.refuse(node, f"expected text, found {_word(node)}")
        return found

    def schema(self) -> JsonSchema:
        return {"type": "string"}


@dataclass(frozen=True, slots=True)
class Template:
    """Text in which `{name}` stands for a value, `{{` and `}}` for braces."""

    names: tuple[str, ...]

    def parse(self, node: Node, place: Place) -> str:
        text = Text().parse(node, place)
        try:
            parts = list(Formatter().parse(text))
        except ValueError as error:
            place.refuse(node, f"no template: {error} (a brace itself is written twice)")
        for _, name, form, conversion in parts:
            if name is None:
                continue
            if name not in self.names:
                place.refuse(node, f"unknown template {{{name}}}{did_you_mean(name, self.names)}")
            if form or conversion:
                place.refuse(node, f"{{{name}}} takes neither a format nor a conversion")
        return text

    def schema(self) -> JsonSchema:
        return Text().schema()


@dataclass(frozen=True, slots=True)
class Regex:
    """A regular expression of Python's `re`."""

    def parse(self, node: Node, place: Place) -> re.Pattern[str]:
        text = Text(means="a regular expression").parse(node, place)
        try:
            return re.compile(text)
        except re.error as error:
            place.refuse(node, f"no regular expression: {error}")

    def schema(self) -> JsonSchema:
        return {"type": "string", "format": "regex"}


@dataclass(frozen=True, slots=True)
class Flag:
    """true or false."""

    def parse(self, node: Node, place: Place) -> bool:
        found = marked_yaml.value(node)
        if not isinstance(found, bool):
            place.refuse(node, f"expected true or false, found {_word(node)}")
        return found

    def schema(self) -> JsonSchema:
        return {"type": "boolean"}


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number within bounds."""

    least: int = 0
    most: int | None = None

    def parse(self, node: Node, place: Place) -> int:
        found = marked_yaml.value(node)
        if not isinstance(found, int) or isinstance(found, bool):
            place.refuse(node, f"expected a whole number, found {_word(node)}")
        if found < self.least or (self.most is not None and found > self.most):
            upper = "" if self.most is None else f" and at most {self.most}"
            place.refuse(node, f"expected at least {self.least}{upper}, found {found}")
        return found

    def schema(self) -> JsonSchema:
        return {"type": "integer", "minimum": self.least} | ({} if self.most is None else {"maximum": self.most})


@dataclass(frozen=True, slots=True)
class Seconds:
    """A time above zero, in seconds."""

    def parse(self, node: Node, place: Place) -> float:
        found = marked_yaml.value(node)
        if not isinstance(found, int | float) or isinstance(found, bool):
            place.refuse(node, f"expected seconds, found {_word(node)}")
        if not 0 < found < float("inf"):
            place.refuse(node, f"expected seconds above 0, found {found}")
        return float(found)

    def schema(self) -> JsonSchema:
        return {"type": "number", "exclusiveMinimum": 0}


@dataclass(frozen=True, slots=True)
class Number:
    """Any finite number."""

    def parse(self, node: Node, place: Place) -> int | float:
        found = marked_yaml.value(node)
        if not isinstance(found, int | float) or isinstance(found, bool) or not -1e308 < found < 1e308:
            place.refuse(node, f"expected a number, found {_word(node)}")
        return found

    def schema(self) -> JsonSchema:
        return {"type": "number"}


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of a few names."""

    names: tuple[str, ...]

    def parse(self, node: Node, place: Place) -> str:
        found = marked_yaml.value(node)
        if not isinstance(found, str):
            place.refuse(node, f"expected one of {', '.join(self.names)}, found {_word(node)}")
        if found not in self.names:
            place.refuse(node, f"unknown name {found!r}{did_you_mean(found, self.names)}")
        return found

    def schema(self) -> JsonSchema:
        return {"enum": list(self.names)}


@dataclass(frozen=True, slots=True)
class Plain:
    """Any YAML value, taken as it is."""

    def parse(self, node: Node, place: Place) -> Any:
        return marked_yaml.value(node)

    def schema(self) -> JsonSchema:
        return {}


@dataclass(frozen=True, slots=True)
class ListOf(Generic[T]):
    """A list of one shape."""

    item: Shape[T]
    least: int = 0

    def parse(self, node: Node, place: Place) -> tuple[T, ...]:
        if not isinstance(node, SequenceNode):
            place.refuse(node, f"expected a list, found {_word(node)}")
        if len(node.value) < self.least:
            place.refuse(node, f"expected at least {self.least} in the list, found {len(node.value)}")
        return tuple(self.item.parse(each, place / index) for index, each in enumerate(node.value))

    def schema(self) -> JsonSchema:
        return {"type": "array", "items": self.item.schema()} | ({"minItems": self.least} if self.least else {})


def entries(node: Node, place: Place, what: str = "a mapping") -> list[tuple[str, Node, Node]]:
    """Key, key's node and value's node of a mapping; a key that is no text or occurs twice is refused."""
    if not isinstance(node, MappingNode):
        place.refuse(node, f"expected {what}, found {_word(node)}")
    found: dict[str, tuple[str, Node, Node]] = {}
    for key_node, item in node.value:
        key = marked_yaml.value(key_node) if isinstance(key_node, ScalarNode) else None
        if not isinstance(key, str):
            place.refuse(key_node, f"expected text as a key, found {_word(key_node)}")
        if key in found:
            (place / key).refuse(key_node, f"occurs twice; first on line {marked_yaml.line(found[key][1])}")
        found[key] = (key, key_node, item)
    return list(found.values())


@dataclass(frozen=True, slots=True)
class MapOf(Generic[T]):
    """A mapping from free names to one shape."""

    item: Shape[T]
    least: int = 0

    def parse(self, node: Node, place: Place) -> dict[str, T]:
        found = entries(node, place)
        if len(found) < self.least:
            place.refuse(node, f"expected at least {self.least}, found {len(found)}")
        return {key: self.item.parse(item, place / key) for key, _, item in found}

    def schema(self) -> JsonSchema:
        least = {"minProperties": self.least} if self.least else {}
        return {"type": "object", "additionalProperties": self.item.schema()} | least


@dataclass(frozen=True, slots=True)
class Key(Generic[T]):
    """One key of `Fields`: its shape, and whether it must be there. `means` goes into the published schema."""

    shape: Shape[T]
    means: str = ""
    required: bool = False


@dataclass(frozen=True, slots=True)
class Fields(Generic[T]):
    """A mapping with known keys, built into a value. A ValueError of `build` is an error of the author's."""

    build: Callable[..., T]
    keys: Mapping[str, Key[Any]] = field(default_factory=dict)

    def parse(self, node: Node, place: Place) -> T:
        found = entries(node, place)
        for key, key_node, _ in found:
            if key not in self.keys:
                (place / key).refuse(key_node, f"unknown key{did_you_mean(key, self.keys)}")
        names = {key for key, _, _ in found}
        for key, wanted in self.keys.items():
            if wanted.required and key not in names:
                place.refuse(node, f"the key '{key}' is missing")
        values = {key: self.keys[key].shape.parse(item, place / key) for key, _, item in found}
        try:
            return self.build(**values)
        except ValueError as error:
            place.refuse(node, str(error))

    def schema(self) -> JsonSchema:
        properties = {
            key: wanted.shape.schema() | ({"description": wanted.means} if wanted.means else {})
            for key, wanted in self.keys.items()
        }
        required = [key for key, wanted in self.keys.items() if wanted.required]
        return {"type": "object", "additionalProperties": False, "properties": properties} | (
            {"required": required} if required else {}
        )


@dataclass(frozen=True, slots=True)
class Either(Generic[T]):
    """One shape for mappings, another for what is not a mapping."""

    mapping: Shape[T]
    other: Shape[T]

    def parse(self, node: Node, place: Place) -> T:
        return (self.mapping if isinstance(node, MappingNode) else self.other).parse(node, place)

    def schema(self) -> JsonSchema:
        return {"anyOf": [self.mapping.schema(), self.other.schema()]}
