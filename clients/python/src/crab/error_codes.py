# Made by scripts/gen_errors.py from spec/errors.json: edit that file, not this one.
"""Every error code; docs/reference/errors.md says what each means."""

ERROR_CODES = (
    "INVALID_ARGS",
    "TOOL_NOT_FOUND",
    "NOT_FOUND",
    "UNAUTHENTICATED",
    "FORBIDDEN",
    "AUTH_REQUIRED",
    "PAIRING_REQUIRED",
    "PAIRING_FAILED",
    "APPROVAL_REQUIRED",
    "POLICY_UNENFORCEABLE",
    "WORKTREE_NOT_BOUND",
    "AMBIGUOUS_TOOL",
    "CONFLICT",
    "ALREADY_IN_PROGRESS",
    "RATE_LIMITED",
    "OVERSIZE",
    "UNAVAILABLE",
    "TIMEOUT",
    "WALL_TIMEOUT",
    "CPU_BUDGET_EXCEEDED",
    "CANCELLED",
    "OUTCOME_UNKNOWN",
    "TOOL_FAILED",
    "INTERNAL",
)
