"""PURE, torch-free. A traced profile: what a model needs, and what it was traced with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, cast

from headway.memory.recipe import Recipe, recipe_of
from headway.profile.polynomial import SavedBytes, saved_bytes_of
from headway.profile.step_types import Rules, StepPeak, step_peak_of
from headway.profile.types import ModelProfile

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Versions:
    """What the figures depend on beside the model: libraries, and the kernel that computes the loss."""

    torch: str
    transformers: str
    loss_kernel: str


@dataclass(frozen=True, slots=True)
class TraceRequest:
    """What to trace.

    - `factory` ("module:name", resolved from the job's directory) or `model`, a short name, with `config`,
      the keys of its Hugging Face configuration that differ;
    - `method` `full` or `lora` with `rank` and `targets` (of the model's modules);
    - `recipe`, at `micro_batch` samples of `seq_len` tokens, stepped by `optimizer` on `world_size` workers;
    - `rules` of the device that is planned for.
    """

    recipe: Recipe = Recipe()  # noqa: RUF009 - frozen
    factory: str = ""
    model: str = ""
    config: tuple[tuple[str, object], ...] = ()
    method: str = "full"
    rank: int = 8
    targets: tuple[str, ...] = ()
    micro_batch: int = 1
    seq_len: int = 512
    optimizer: str = "adamw"
    world_size: int = 1
    workers_in_node: int | None = None
    rules: Rules = "cuda"

    @property
    def sharded(self) -> bool:
        """Whether FSDP shards the model, and casts parameters instead of autocast."""
        return self.recipe.sharding in {"fsdp", "hsdp"}

    @property
    def name(self) -> str:
        """What is traced, for people."""
        return self.factory or self.model

    def to_data(self) -> dict[str, Any]:
        """As JSON holds it."""
        return {**asdict(self), "recipe": self.recipe.to_data(), "config": dict(self.config)}


def request_of(data: Mapping[str, Any]) -> TraceRequest:
    """A request from JSON.

    Raises:
        KeyError, TypeError, ValueError: the data is not one.
        UserError: its recipe is not one.
    """
    values = dict(data)
    values["recipe"] = recipe_of(values["recipe"])
    values["config"] = tuple(dict(values["config"]).items())
    values["targets"] = tuple(values["targets"])
    return TraceRequest(**values)


@dataclass(frozen=True, slots=True)
class TracedProfile:
    """What one model needs per step, traced on fake tensors.

    - `parameters`, `trained`: weights;
    - `layers`: blocks; `peak`: of the request's recipe at its batch and length;
    - `plain` and `recomputed`: without any technique, and with all blocks recomputed; sharded as the request
      is, on one worker where it is not;
    - `saved`: bytes that one block keeps, by technique (`all`, `nothing`, …), exact functions of B and S.
    """

    request: TraceRequest
    versions: Versions
    parameters: int
    trained: int
    layers: int
    peak: StepPeak
    plain: StepPeak
    recomputed: StepPeak
    saved: Mapping[str, SavedBytes]

    def to_data(self) -> dict[str, Any]:
        """As JSON holds it."""
        return {
            "format": FORMAT,
            "request": self.request.to_data(),
            "versions": asdict(self.versions),
            "parameters": self.parameters,
            "trained": self.trained,
            "layers": self.layers,
            "peak": self.peak.to_data(),
            "plain": self.plain.to_data(),
            "recomputed": self.recomputed.to_data(),
            "saved": {name: function.to_data() for name, function in self.saved.items()},
        }

    def model_profile(self) -> ModelProfile:
        """As the planner reads it, at the request's sequence length."""
        request = self.request
        tokens = request.micro_batch * request.seq_len
        element = 4 if request.recipe.precision == "fp32" else 2
        weights = self.parameters * element
        held = self.plain.places["optimizer"]
        kept, copies = self._kept("all", self.plain)
        # Traced on one worker, or sharded over all: rank 0 then holds its share.
        shares = request.world_size if request.sharded else 1
        again, _copies = self._kept("nothing", self.recomputed)
        # The planner counts weights as computed with: the fp32 master belongs to the state, and so do the
        # 16-bit copies that autocast keeps beside it.
        states = (held["parameters"] + held["gradients"] + held["optimizer"]) * shares - weights + copies
        loss = self.plain.places.get("loss", {}).get("loss_head", 0)
        work = self.plain.work
        extra = self.recomputed.work.recompute_flops
        return ModelProfile(
            name=request.name,
            method=request.method,
            parameters=self.parameters,
            trainable=self.trained,
            weight_bytes=weights,
            state_bytes=max(0, states),
            gradient_bytes=self.trained * element,
            activation_bytes_per_token=kept / tokens,
            recompute_bytes_per_token=again / tokens,
            layer_bytes_per_token=kept / max(1, self.layers) / tokens,
            logit_bytes_per_token=loss / tokens,
            flops_per_token=(work.forward_flops + work.backward_flops) / tokens,
            recompute_flops_per_token=extra / tokens,
            seq_len=request.seq_len,
            precision=request.recipe.precision,
            basis=f"{self.plain.basis}, torch {self.versions.torch}, {request.rules} rules",
        )

    def lean_profile(self) -> ModelProfile | None:
        """The same with the request's recipe in place of none; None where that has no layer techniques."""
        if "recipe" not in self.saved:
            return None
        request = self.request
        tokens = request.micro_batch * request.seq_len
        kept, _copies = self._kept("recipe", self.peak)
        loss = self.peak.places.get("loss", {}).get("loss_head", 0)
        return replace(
            self.model_profile(),
            activation_bytes_per_token=kept / tokens,
            layer_bytes_per_token=kept / max(1, self.layers) / tokens,
            logit_bytes_per_token=loss / tokens,
        )

    def _kept(self, name: str, peak: StepPeak) -> tuple[int, int]:
        """What all blocks keep for the request's batch: what grows with it, and what does not."""
        request = self.request
        function = self.saved.get(name)
        if function is None:
            return sum(peak.block_bytes), 0
        fixed = int(function.coefficients[0])
        whole = function.at(request.micro_batch, request.seq_len)
        return self.layers * (whole - fixed), self.layers * fixed


def traced_profile_of(data: Mapping[str, Any]) -> TracedProfile:
    """A profile from JSON.

    Raises:
        KeyError, TypeError, ValueError, AttributeError: the data is not one, or of another format.
        UserError: its recipe is not one.
    """
    if data["format"] != FORMAT:
        raise ValueError(f"format {data['format']}, not {FORMAT}")
    saved = cast("Mapping[str, Mapping[str, Any]]", data["saved"])
    return TracedProfile(
        request=request_of(data["request"]),
        versions=Versions(**data["versions"]),
        parameters=int(data["parameters"]),
        trained=int(data["trained"]),
        layers=int(data["layers"]),
        peak=step_peak_of(data["peak"]),
        plain=step_peak_of(data["plain"]),
        recomputed=step_peak_of(data["recomputed"]),
        saved={name: saved_bytes_of(function) for name, function in saved.items()},
    )
