"""Nothing that is waited for has a deadline: neither a step nor the request."""

from router.cli import main
from router.deadline import Deadline

SUITES = (
    "router_invariants/i13_a_completion_that_is_never_answered",
    "router_invariants/i13_a_provider_that_never_ends",
    "router_invariants/i13_a_request_has_a_deadline_of_its_own",
    "router_invariants/i13_a_restore_that_is_never_answered",
    "router_invariants/i13_a_share_that_is_never_answered",
    "router_invariants/i30_never_finished_stalled",
    "router_invariants/i33_no_status_for_a_stream_that_never_begins",
)


def mutate() -> None:
    Deadline.left = lambda self: 3600.0  # type: ignore[method-assign]
    Deadline.cut = lambda self, seconds: 3600.0  # type: ignore[method-assign]


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
