"""Every handoff writes the same file, under a name that anybody can guess."""

from pathlib import Path

from router.cli import main
from router.private_files import Place

SUITES = (
    "router_invariants/i08_a_state_file_belongs_to_one_attempt",
    "router_invariants/i45_no_field_of_a_client_chooses_a_slot",
    "router_reports/b42_names_that_lead_elsewhere_lead_nowhere",
)


def one_for_all(self: Place, suffix: str) -> Path:
    path = self.folder / f"{self._stem}{suffix}"
    path.touch(mode=0o600)
    return path


def mutate() -> None:
    Place.new_file = one_for_all  # type: ignore[method-assign]


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
