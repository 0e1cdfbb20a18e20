"""The base of every mapping in a job or sites file: closed, frozen, and checked across its keys."""

from collections.abc import Iterable, Iterator
from typing import LiteralString, NamedTuple, Self, cast

from pydantic import BaseModel, ConfigDict, model_validator
from pydantic_core import PydanticCustomError

from headway.messages import text
from headway.spec.problems import KeyPath

# The error type under which one validator reports several findings, each at its own key.
SEVERAL = "spec.several"


class Found(NamedTuple):
    """A finding below the mapping that was checked: the key, the message id and its values."""

    at: KeyPath
    message: str
    values: dict[str, object]


def fault(message: LiteralString, **values: object) -> PydanticCustomError:
    """The exception that a validator raises: a message id and values, as everywhere in the product."""
    return PydanticCustomError(message, cast("LiteralString", text(message, **values)), values)


def refuse(findings: Iterable[Found]) -> None:
    """Raise all findings at once; nothing where there are none."""
    found = tuple(findings)
    if found:
        said = "; ".join(text(one.message, **one.values) for one in found)
        raise PydanticCustomError(SEVERAL, cast("LiteralString", said), {"found": found})


class Part(BaseModel):
    """A closed, frozen mapping; a subclass says in `conflicts` what its keys must not be together."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        allow_inf_nan=False,
        serialize_by_alias=True,
        # A refused value may be a credential: pydantic's own texts must not repeat it.
        hide_input_in_errors=True,
    )

    def conflicts(self) -> Iterator[Found]:
        """What contradicts what; checked once each key is valid by itself."""
        yield from ()

    def to_data(self) -> dict[str, object]:
        """What a file would say: only the keys that were given; reading it again gives an equal spec."""
        return self.model_dump(mode="json", exclude_unset=True)

    @model_validator(mode="after")
    def _no_conflicts(self) -> Self:
        refuse(self.conflicts())
        return self
