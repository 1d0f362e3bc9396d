"""YAML that remembers its lines: text into nodes that know where they stand.

Refused here, because a reader of the file would be misled: anchors, aliases, tags, several documents in one file.
Something that looks like a date stays text. What the keys mean is the business of `harness.shapes`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from harness.errors import ScenarioError

LARGEST = 1 << 20
"""Bytes of a file. What is larger was not written by a person, and would be parsed for minutes."""

DEEPEST = 50
"""Levels of nesting, far above what a scenario can mean and far below where the parser runs out of stack."""


class _Composer(yaml.SafeLoader):
    depth = 0

    def compose_node(self, parent: Node | None, index: Any) -> Node | None:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        if getattr(event, "anchor", None) is not None:
            raise _Refused(event.start_mark.line + 1, "anchors and aliases are not allowed; write it out")
        if getattr(event, "tag", None) is not None:
            raise _Refused(event.start_mark.line + 1, f"tags are not allowed: {event.tag}")
        if self.depth == DEEPEST:
            raise _Refused(event.start_mark.line + 1, f"nested more than {DEEPEST} levels deep")
        self.depth += 1
        try:
            return super().compose_node(parent, index)
        finally:
            self.depth -= 1


_Composer.yaml_implicit_resolvers = {
    first: [(tag, form) for tag, form in resolvers if not tag.endswith(":timestamp")]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


class _Refused(Exception):
    def __init__(self, line: int, problem: str) -> None:
        super().__init__(problem)
        self.line, self.problem = line, problem


def read(path: Path) -> Node:
    """The one document of a file. ScenarioError names the line of what is wrong."""
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
        if len(data) > LARGEST:
            raise ScenarioError(path, 1, "", f"the file is too large: at most {LARGEST >> 20} MiB is read")
        text = data.decode("utf-8")
    except OSError as error:
        raise ScenarioError(path, 1, "", f"cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        at = data.count(b"\n", 0, error.start) + 1
        raise ScenarioError(path, at, "", "cannot be read: this is no text in UTF-8") from None
    return parse(text, path)


def parse(text: str, file: Path | str) -> Node:
    """Same as `read`, for text that stands in `file`."""
    try:
        node = _Composer(text).get_single_node()
    except _Refused as refused:
        raise ScenarioError(file, refused.line, "", refused.problem) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise ScenarioError(file, mark.line + 1 if mark else 1, "", f"no valid YAML: {error.problem}") from None
    except yaml.reader.ReaderError as error:
        at = text.count("\n", 0, error.position) + 1
        problem = f"no valid YAML: the character U+{error.character:04X} is not allowed"
        raise ScenarioError(file, at, "", problem) from None
    except yaml.YAMLError as error:
        raise ScenarioError(file, 1, "", f"no valid YAML: {error}") from None
    if node is None:
        raise ScenarioError(file, 1, "", "the file is empty")
    return node


def line(node: Node) -> int:
    return int(node.start_mark.line) + 1


def value(node: Node) -> Any:
    """A node as plain data: dict, list, str, int, float, bool or None."""
    if isinstance(node, MappingNode):
        return {value(key): value(item) for key, item in node.value}
    if isinstance(node, SequenceNode):
        return [value(item) for item in node.value]
    assert isinstance(node, ScalarNode)
    return _scalars.construct_object(node)


_scalars = yaml.SafeLoader("")
