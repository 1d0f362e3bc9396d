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


class _Composer(yaml.SafeLoader):
    def compose_node(self, parent: Node | None, index: Any) -> Node | None:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        if getattr(event, "anchor", None) is not None:
            raise _Refused(event.start_mark.line + 1, "anchors and aliases are not allowed; write it out")
        if getattr(event, "tag", None) is not None:
            raise _Refused(event.start_mark.line + 1, f"tags are not allowed: {event.tag}")
        return super().compose_node(parent, index)


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
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ScenarioError(path, 1, "", f"cannot be read: {getattr(error, 'strerror', None) or error}") from None
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
