"""What a job says about its model and its amount of work: what planning needs."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal, cast

from pydantic import AfterValidator, BeforeValidator, Field, GetJsonSchemaHandler, JsonValue, model_serializer
from pydantic_core import CoreSchema

from headway.spec.parts import Found, Part, fault
from headway.spec.problems import show
from headway.spec.quantities import Number, Whole, entries, within
from headway.spec.texts import Printable, Storage, matching

MethodKind = Literal["full", "lora", "qlora"]
Optimizer = Literal["adamw", "adam", "sgd", "adafactor", "lion", "adagrad", "rmsprop"]

# `package.module:callable`, or the short name of a published configuration.
_FACTORY = r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*|[A-Za-z0-9][\w.-]*(?:/[\w.-]+)?"


class Model(Part):
    """Where the model comes from."""

    factory: Annotated[Printable, entries("uri"), matching(_FACTORY, "spec.not_factory")]
    config: dict[str, JsonValue] = Field(default_factory=dict)


class Adapter(Part):
    """A low-rank adapter: the user's choice, never the planner's."""

    rank: Annotated[Whole, within("workload.method.rank")] = 8
    alpha: Annotated[Number, within("workload.method.alpha")] | None = None
    targets: Annotated[tuple[Printable, ...], entries("workload.method.targets")] | None = None


class Method(Part):
    """How the weights are trained: `full`, `lora`, `qlora`, or one of the last two with its settings."""

    lora: Adapter | None = None
    qlora: Adapter | None = None

    @property
    def kind(self) -> MethodKind:
        """The method's name."""
        if self.lora is not None:
            return "lora"
        return "full" if self.qlora is None else "qlora"

    @property
    def adapter(self) -> Adapter | None:
        """The adapter's settings; None when all weights are trained."""
        return self.lora or self.qlora

    @model_serializer
    def _written(self) -> str | dict[str, object]:
        return "full" if self.adapter is None else {self.kind: self.adapter.to_data()}

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """The names beside the mapping, which pydantic cannot know of."""
        written = handler.resolve_ref_schema(handler(core))
        mapping = {key: value for key, value in written.items() if key != "description"}
        mapping |= {"minProperties": 1, "maxProperties": 1}
        return {
            "description": written.get("description", ""),
            "anyOf": [{"enum": ["full", "lora", "qlora"], "type": "string"}, mapping],
        }


def _method(value: object) -> object:
    if isinstance(value, Method):
        return value
    if value == "full":
        return Method()
    if isinstance(value, str) and value in {"lora", "qlora"}:
        return {value: {}}
    given = cast("dict[str, object]", value) if isinstance(value, dict) else {}
    # An unknown key is left to be named as such; none or both is a choice not made.
    if not given or {"lora", "qlora"} <= given.keys():
        raise fault("spec.not_method", value=show(value))
    return given


def _distinct(values: tuple[str, ...]) -> tuple[str, ...]:
    for index, value in enumerate(values):
        if value in values[:index]:
            raise fault("spec.twice_in_list", value=show(value))
    return values


Distinct = AfterValidator(_distinct)


class Workload(Part):
    """What is trained, on how much, in which steps."""

    model: Model | None = None
    profile: Storage | None = None
    method: Annotated[Method, BeforeValidator(_method)] = Method()
    optimizer: Optimizer = "adamw"
    samples: Annotated[Whole, within("workload.samples")] | None = None
    tokens: Annotated[Whole, within("workload.tokens")] | None = None
    steps: Annotated[Whole, within("workload.steps")] | None = None
    epochs: Annotated[Number, within("workload.epochs")] | None = None
    seq_len: Annotated[Whole, within("workload.seq_len")] | None = None
    global_batch: Annotated[Whole, within("workload.global_batch")] | None = None
    micro_batch: Annotated[Whole, within("workload.micro_batch")] | None = None

    def conflicts(self) -> Iterator[Found]:
        """One amount of work, one source of the model's needs, and batches that nest."""
        amounts = [
            name for name in ("samples", "tokens", "steps", "epochs") if getattr(self, name) is not None
        ]
        for name in amounts[1:]:
            yield Found((name,), "spec.second_amount", {"first": amounts[0]})
        if self.model is not None and not amounts:
            yield Found((), "spec.no_amount", {})
        if self.model is not None and self.profile is not None:
            yield Found(("profile",), "spec.model_or_profile", {})
        if self.micro_batch and self.global_batch and self.micro_batch > self.global_batch:
            yield Found(
                ("micro_batch",),
                "spec.micro_over_global",
                {"micro": self.micro_batch, "whole": self.global_batch},
            )
