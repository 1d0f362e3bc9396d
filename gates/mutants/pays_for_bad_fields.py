"""A request is handed over before anybody looks whether a decoder takes its fields."""

from router import request_body
from router.cli import main

SUITES = ("router_invariants/i14_what_can_never_be_served_is_refused_at_once",)


def is_refused(name: str, value: object) -> bool:
    return False


def mutate() -> None:
    request_body._is_refused = is_refused


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
