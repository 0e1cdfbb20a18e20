"""A job spec: what a user asks for, in one file."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, StrictBool

from headway.spec.parts import Found, Part
from headway.spec.quantities import (
    Bytes,
    GpuSpan,
    Price,
    Seconds,
    Span,
    Version,
    Whole,
    byte_size,
    duration,
    entries,
    money,
    within,
)
from headway.spec.recipe import RecipeSpec, recipe_or_preset
from headway.spec.texts import (
    Command,
    Environment,
    EnvName,
    LabelKey,
    LabelValue,
    Name,
    Person,
    Printable,
    Requirement,
    Storage,
    Uri,
    matching,
)
from headway.spec.workload import Distinct, Workload

Precision = Literal["fp32", "tf32", "bf16", "fp16", "fp8"]
RegionPattern = Annotated[str, matching(r"[a-z0-9*?-]{1,40}", "spec.not_region_pattern")]
Interconnect = Literal["any", "nvlink", "infiniband", "efa", "ethernet"]
Sensitivity = Literal["public", "internal", "confidential", "restricted"]
Goal = Literal["cheapest", "fastest", "greenest", "balanced"]
Priority = Literal["low", "normal", "high"]


class Needs(Part):
    """What each worker needs, and how many there may be."""

    workers: Annotated[Whole, within("needs.workers")] | None = None
    gpus: GpuSpan = Span(0, 0)
    cpus_per_worker: Annotated[Whole, within("needs.cpus_per_worker")] = 1
    memory_per_worker: Annotated[Bytes, byte_size("needs.memory_per_worker")] | None = None
    precision: Annotated[tuple[Precision, ...], Field(min_length=1, max_length=5), Distinct] = ("fp32",)
    interconnect: Interconnect = "any"


class Memory(Part):
    """Which memory techniques are allowed."""

    exact: StrictBool = True
    recipe: Annotated[RecipeSpec, BeforeValidator(recipe_or_preset)] = RecipeSpec()

    def conflicts(self) -> Iterator[Found]:
        """A lossy technique needs a word."""
        if self.exact and self.recipe.gradients != "plain":
            yield Found(("recipe", "gradients"), "spec.lossy", {"value": self.recipe.gradients})


class Data(Part):
    """Where the data lie (a URI, the site that it is in), how large and how sensitive they are."""

    uri: Uri | None = None
    size: Annotated[Bytes, byte_size("data.size")] | None = None
    sensitivity: Sensitivity = "internal"
    site: Name | None = None


class Limits(Part):
    """What the run must not exceed, and where it may run: sites, and regions by pattern (`eu-*`)."""

    deadline: Annotated[Seconds, duration("limits.deadline")] | None = None
    budget: Annotated[Price, money("limits.budget")] | None = None
    sites: Annotated[tuple[Name, ...], entries("limits.sites"), Distinct] = ("any",)
    regions: Annotated[tuple[RegionPattern, ...], entries("limits.regions"), Distinct] = ()
    latency_to_data: Annotated[Seconds, duration("limits.latency_to_data")] | None = None

    def conflicts(self) -> Iterator[Found]:
        """`any` already means all of them."""
        if "any" in self.sites and len(self.sites) > 1:
            yield Found(("sites",), "spec.any_and_others", {})


class Secret(Part):
    """A credential by reference: its name in the run, and where its value comes from."""

    name: EnvName
    source: Annotated[str, matching(r"env(?::[A-Za-z_][A-Za-z0-9_]{0,254})?", "spec.not_secret_source")] = (
        Field(alias="from")
    )

    @property
    def variable(self) -> str:
        """The environment variable of the submitting process that holds the value."""
        return self.source.partition(":")[2] or self.name


class Retries(Part):
    """How often each kind of failure is tried again."""

    preemption: Annotated[Whole, within("retries")] = 20
    infra: Annotated[Whole, within("retries")] = 3
    user: Annotated[Whole, within("retries")] = 0
    hang: Annotated[Whole, within("retries")] = 1
    oom: Annotated[Whole, within("retries")] = 0


class JobSpec(Part):
    """One training job: what to start, what it needs, what it may cost."""

    version: Version
    name: Annotated[Printable, entries("name")]
    team: Person | None = None
    project: Person | None = None
    owner: Person | None = None
    labels: Annotated[dict[LabelKey, LabelValue], entries("labels")] = Field(default_factory=dict)
    entrypoint: Command
    workload: Workload | None = None
    needs: Needs = Needs()
    memory: Memory = Memory()
    data: Data | None = None
    limits: Limits = Limits()
    goal: Goal = "cheapest"
    queue: Name = "default"
    priority: Priority = "normal"
    image: Annotated[str, entries("uri"), matching(r"[a-z0-9][\w.:/@-]*", "spec.not_image")] | None = None
    pip: Annotated[tuple[Requirement, ...], entries("pip"), Distinct] = ()
    env: Environment = Field(default_factory=dict)
    secrets: Annotated[tuple[Secret, ...], entries("secrets")] = ()
    storage: Storage | None = None
    retries: Retries = Retries()
    expected_duration: Annotated[Seconds, duration("expected_duration")] | None = None

    @property
    def workers(self) -> int:
        """How many workers to start: as asked, else one per GPU, and one at least."""
        return self.needs.workers or max(1, self.needs.gpus.min)

    def conflicts(self) -> Iterator[Found]:
        """Each variable of the run has one value."""
        seen: set[str] = set()
        for index, secret in enumerate(self.secrets):
            if secret.name in seen:
                yield Found(("secrets", index, "name"), "spec.name_twice", {"name": secret.name})
            seen.add(secret.name)
            if secret.name in self.env:
                yield Found(("env", secret.name), "spec.env_and_secret", {"name": secret.name})
