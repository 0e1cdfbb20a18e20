"""The one error tree: every error has a stable code, an exit code, a message id and a hint.

The text itself lives in the message catalogue (`headway.messages`), so that it can be translated;
an error carries only the id and the values. Errors pickle, since Ray moves them between processes.
"""

from __future__ import annotations

from typing import ClassVar

from headway.messages import find, text


class HeadwayError(Exception):
    """Base of all our errors.

    Args:
        message: id of the text in the catalogue; `hint.<id>`, where it exists, says what to do.
        values: what the text's placeholders are filled with.
    """

    code: ClassVar[str] = "E-INT-01"
    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, **values: object) -> None:
        super().__init__(message)
        self.message = message
        self.values = values

    def __str__(self) -> str:
        return text(self.message, **self.values)

    @property
    def hint(self) -> str | None:
        """What the user can do, or None where the catalogue has no hint for this message."""
        return find(f"hint.{self.message}", **self.values)

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.message, self.values)


def _rebuild(kind: type[HeadwayError], message: str, values: dict[str, object]) -> HeadwayError:
    return kind(message, **values)


class UserError(HeadwayError):
    """The request itself is wrong: the user can mend it."""

    code = "E-USE-01"
    exit_code = 2


class SpecError(UserError):
    """A job or sites file is wrong; see `headway.spec.problems` for the positions."""

    code = "E-SPEC-01"


class ConfigError(UserError):
    """A setting is wrong or contradicts another."""

    code = "E-CFG-01"


class NotFoundError(HeadwayError):
    """What was named does not exist."""

    code = "E-NOT-01"
    exit_code = 3


class AuthError(HeadwayError):
    """No token, or one that is unknown, revoked or expired."""

    code = "E-AUT-01"
    exit_code = 4


class ForbiddenError(AuthError):
    """The caller is known, and may not do this."""

    code = "E-AUT-02"


class CapacityError(HeadwayError):
    """The machines at hand can never hold this run, or may not now."""

    code = "E-CAP-01"
    exit_code = 5


class BudgetError(HeadwayError):
    """The run would spend more than it may."""

    code = "E-BUD-01"
    exit_code = 6


class ExternalError(HeadwayError):
    """Something outside of us is down or answers wrongly."""

    code = "E-EXT-01"
    exit_code = 7


class RunFailedError(HeadwayError):
    """The run ended in FAILED."""

    code = "E-RUN-01"
    exit_code = 8


class RunStoppedError(HeadwayError):
    """The run ended without finishing because it was stopped or preempted for good."""

    code = "E-RUN-02"
    exit_code = 9


class DataError(HeadwayError):
    """Recorded data contradicts itself or lacks what a figure needs."""

    code = "E-DAT-01"


class LedgerImbalanceError(DataError):
    """Cost lines do not add up, or a price no longer has the hash it was stored with."""

    code = "E-DAT-02"


class LeaseLostError(HeadwayError):
    """Another attempt owns the run now; this one must not write any more."""

    code = "E-RUN-03"


class StateError(HeadwayError):
    """A run was asked for a change of state that its transition table does not have."""

    code = "E-RUN-04"
    exit_code = 2
