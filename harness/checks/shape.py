"""The shape of a check in a scenario file: which keys there are and how they go together.

An absence without a witness is refused here, so that no run can pass by not getting anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from yaml.nodes import MappingNode, Node

from harness import marked_yaml
from harness.checks.expectation import Expected, FieldsExpected
from harness.checks.journal import paths
from harness.checks.judge import Count
from harness.checks.look import Absent, AllOf, AnyOf, Check, Look, Observable, Order
from harness.checks.register import OBSERVABLES
from harness.near import did_you_mean
from harness.shapes import Either, Fields, JsonSchema, Key, ListOf, Place, Seconds, Shape, Text, Whole, entries

_MODIFIERS = ("count", "where", "request", "within", "witness")
_COMBINED = ("all", "any", "order", "absent")
_BESIDE = {"absent": ("witness",), "order": ("within",)}
EXPECTED = Expected(paths)


def _between(min: int = 0, max: int | None = None) -> Count:
    if max is not None and max < min:
        raise ValueError(f"max {max} is below min {min}")
    return Count(min, max)


@dataclass(frozen=True, slots=True)
class _Exactly:
    def parse(self, node: Node, place: Place) -> Count:
        number = Whole().parse(node, place)
        return Count(number, number)

    def schema(self) -> JsonSchema:
        return Whole().schema()


_COUNT: Shape[Count] = Either(Fields(_between, {"min": Key(Whole()), "max": Key(Whole())}), _Exactly())


@dataclass(frozen=True, slots=True)
class CheckShape:
    """One check: an observable with its modifiers, or `all`, `any`, `order`, `absent`."""

    def parse(self, node: Node, place: Place) -> Check:
        found = {key: (key_node, item) for key, key_node, item in entries(node, place, "a check, which is a mapping")}
        if not found:
            place.refuse(node, "the check is empty; it needs an observable")
        heads = [key for key in found if key not in _MODIFIERS]
        for key in heads:
            if key not in OBSERVABLES and key not in _COMBINED:
                known = (*OBSERVABLES, *_COMBINED, *_MODIFIERS)
                (place / key).refuse(found[key][0], f"unknown observable{did_you_mean(key, known)}")
        if not heads:
            place.refuse(node, f"there is no observable beside {', '.join(found)}")
        if len(heads) > 1:
            place.refuse(node, f"{heads[0]} and {heads[1]} stand in one check; put them under `all` or `any`")
        return self._checked(heads[0], found, place)

    def _checked(self, head: str, found: dict[str, tuple[Node, Node]], place: Place) -> Check:
        allowed = _MODIFIERS if head in OBSERVABLES else _BESIDE.get(head, ())
        for key in found:
            if key != head and key not in allowed:
                (place / key).refuse(found[key][0], f"does not go together with {head}")
        item = found[head][1]
        inner = place / head
        match head:
            case "all":
                return AllOf(ListOf(self, least=1).parse(item, inner))
            case "any":
                return AnyOf(ListOf(self, least=2).parse(item, inner))
            case "order":
                within = Seconds().parse(found["within"][1], place / "within") if "within" in found else None
                return Order(ListOf(_TimedLook(), least=2).parse(item, inner), within)
            case "absent":
                return self._absent(_LookShape().parse(item, inner), found, place)
        look = _look(head, found, place)
        if look.count == Count(0, 0):
            return self._absent(look, found, place)
        if "witness" in found:
            (place / "witness").refuse(found["witness"][0], "only an absence (`absent`, `count: 0`) has a witness")
        return look

    def _absent(self, look: Look, found: dict[str, tuple[Node, Node]], place: Place) -> Absent:
        if "witness" not in found:
            head = next(iter(found.values()))[0]
            problem = "an absence needs a `witness`: what shows that the run got as far as where it would have been"
            place.refuse(head, problem)
        return Absent(look, self.parse(found["witness"][1], place / "witness"))

    def schema(self) -> JsonSchema:
        return {"$ref": "#/$defs/check"}

    def definition(self) -> JsonSchema:
        """What `schema` refers to."""
        refer: JsonSchema = {"$ref": "#/$defs/check"}
        look: JsonSchema = {"$ref": "#/$defs/look"}
        parts = {
            "all": {"type": "array", "items": refer, "minItems": 1},
            "any": {"type": "array", "items": refer, "minItems": 2},
            "order": {"type": "array", "items": look, "minItems": 2},
        }
        combined = [
            _one_key(key, shape, {"within": Seconds().schema()} if key == "order" else None)
            for key, shape in parts.items()
        ]
        absent = _one_key("absent", look, {"witness": refer})
        absent["required"] = ["absent", "witness"]
        return {"anyOf": [*combined, absent, look]}

    def look_definition(self) -> JsonSchema:
        """One observable with its modifiers."""
        modifiers: JsonSchema = {
            "count": _COUNT.schema(),
            "where": {"type": "object", "additionalProperties": EXPECTED.schema()},
            "request": Text().schema(),
            "within": Seconds().schema(),
            "witness": {"$ref": "#/$defs/check"},
        }
        return {
            "anyOf": [
                _one_key(each.key, each.shape.schema() | {"description": each.means}, modifiers)
                for each in OBSERVABLES.values()
            ]
        }


def _one_key(key: str, shape: JsonSchema, beside: JsonSchema | None = None) -> JsonSchema:
    properties = {key: shape, **(beside or {})}
    return {"type": "object", "additionalProperties": False, "required": [key], "properties": properties}


def _look(head: str, found: dict[str, tuple[Node, Node]], place: Place) -> Look:
    observable = OBSERVABLES[head]

    def maybe(key: str, shape: Shape[Any]) -> Any:
        return shape.parse(found[key][1], place / key) if key in found else None

    return Look(
        key=head,
        expected=observable.shape.parse(found[head][1], place / head),
        count=maybe("count", _COUNT),
        where=_where(observable, found, place),
        request=maybe("request", Text()),
        within_s=maybe("within", Seconds()),
    )


def _where(observable: Observable, found: dict[str, tuple[Node, Node]], place: Place) -> Any:
    if "where" not in found:
        return None
    if not observable.fields:
        (place / "where").refuse(found["where"][0], f"{observable.key} has no fields to narrow by")
    return FieldsExpected(observable.fields, EXPECTED).parse(found["where"][1], place / "where")


@dataclass(frozen=True, slots=True)
class _LookShape:
    """One observable with modifiers, where nothing put together may stand."""

    def parse(self, node: Node, place: Place) -> Look:
        check = CheckShape().parse(node, place)
        if not isinstance(check, Look):
            place.refuse(node, "expected one observable here, not several put together")
        return check

    def schema(self) -> JsonSchema:
        return {"$ref": "#/$defs/look"}


@dataclass(frozen=True, slots=True)
class _TimedLook:
    """A look whose sightings carry a time."""

    def parse(self, node: Node, place: Place) -> Look:
        look = _LookShape().parse(node, place)
        if not OBSERVABLES[look.key].timed:
            place.refuse(node, f"{look.key} says nothing of when it happened, so it has no place in an order")
        return look

    def schema(self) -> JsonSchema:
        return _LookShape().schema()


@dataclass(frozen=True, slots=True)
class NamedCheck:
    """A check with its name, which is its identity, and the line it stands on."""

    name: str
    check: Check
    line: int


@dataclass(frozen=True, slots=True)
class NamedChecks:
    """The `checks` of a scenario: at least one, each name once."""

    def parse(self, node: Node, place: Place) -> tuple[NamedCheck, ...]:
        found = entries(node, place, "a mapping of check names to checks")
        if not found:
            place.refuse(node, "there are no checks; a run without any proves nothing")
        return tuple(
            NamedCheck(name, CheckShape().parse(item, place / name), marked_yaml.line(key)) for name, key, item in found
        )

    def schema(self) -> JsonSchema:
        return {"type": "object", "minProperties": 1, "additionalProperties": {"$ref": "#/$defs/check"}}


def looks(check: Check) -> tuple[Look, ...]:
    """Every look of a check, witnesses included."""
    match check:
        case Look():
            return (check,)
        case AllOf(parts) | AnyOf(parts):
            return tuple(look for part in parts for look in looks(part))
        case Order(ordered, _):
            return ordered
        case Absent(look, witness):
            return (look, *looks(witness))


def is_mapping(node: Node) -> bool:
    return isinstance(node, MappingNode)
