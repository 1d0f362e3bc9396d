"""A fault's own words, out of the docstring of its function: what the wire sees, what is claimed, what is right."""

from __future__ import annotations

import inspect
from dataclasses import dataclass

from fakes.fault import Fault

_ROUTER = "A correct router"


@dataclass(frozen=True, slots=True)
class Told:
    """`wire`: what goes over the wire. `claim`: what the faulty side says of it. `router`: what a correct one does."""

    wire: str
    claim: str
    router: str


def description(fault: Fault) -> str:
    """All of it, as written."""
    return inspect.cleandoc(fault.play.__doc__ or "")


def told(fault: Fault) -> Told:
    """The three parts, each on one line; one that is not there is empty."""
    wire, _, rest = description(fault).partition("\n\n")
    claim, marked, router = " ".join(rest.split()).partition(_ROUTER)
    return Told(" ".join(wire.split()), claim.strip(), (marked + router).strip())


def family(fault: Fault) -> tuple[str, str]:
    """The module that holds it and its like, and what that says of them."""
    module = inspect.getmodule(fault.play)
    assert module is not None
    return module.__name__.rpartition(".")[2], " ".join(inspect.cleandoc(module.__doc__ or "").split())
