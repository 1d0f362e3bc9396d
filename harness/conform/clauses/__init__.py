"""Every clause, in the order of the protocol's sections. One file holds what belongs to one of them."""

from __future__ import annotations

from harness.conform.clause import Clause
from harness.conform.clauses import (
    actions,
    chat,
    choice,
    completion,
    conversations,
    endings,
    endpoints,
    errors,
    flags,
    http,
    keys,
    leaving,
    logs,
    metrics,
    sampling,
    stream,
    text,
)

CLAUSES: tuple[Clause, ...] = (
    *endings.CLAUSES,
    *flags.CLAUSES,
    *http.CLAUSES,
    *keys.CLAUSES,
    *errors.CLAUSES,
    *endpoints.CLAUSES,
    *completion.CLAUSES,
    *sampling.CLAUSES,
    *stream.CLAUSES,
    *leaving.CLAUSES,
    *conversations.CLAUSES,
    *text.CLAUSES,
    *chat.CLAUSES,
    *choice.CLAUSES,
    *actions.CLAUSES,
    *metrics.CLAUSES,
    *logs.CLAUSES,
)
