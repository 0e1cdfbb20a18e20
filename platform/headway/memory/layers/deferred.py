"""A tensor that is computed where it is used: element by element from what is kept anyway.

An activation hands out a `Deferred` instead of its result. The next Linear then computes the result,
multiplies, and keeps the activation's *input* only; its backward pass computes the result once more for the
weight's gradient. Both passes do the arithmetic of the plain modules, so the gradients are theirs. Anything
else that is done to a Deferred makes it an ordinary tensor first.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 - torch's own custom
from torch import Tensor
from torch.autograd.function import once_differentiable

from headway.errors import UserError

Build = Callable[..., Tensor]


class Deferred:
    """The result of `build(*leaves)`, not computed yet.

    `leaves` are tensors of the autograd graph; `shape` and `dtype` are the result's.
    """

    needs_grad_mode = True

    def __init__(
        self, build: Build, leaves: tuple[Tensor, ...], shape: torch.Size, dtype: torch.dtype
    ) -> None:
        self.build = build
        self.leaves = leaves
        self.shape = shape
        self.dtype = dtype
        self._value: Tensor | None = None
        # What this is another view of: what is done in place to one is done to the other.
        self._origin: tuple[Deferred, Callable[[Tensor], Tensor]] | None = None
        self.versions = tuple(_version(leaf) for leaf in leaves)

    @property
    def is_computed(self) -> bool:
        """Whether the result, or what it is a view of, exists: from then on all work is on that."""
        return self._value is not None or (self._origin is not None and self._origin[0].is_computed)

    def viewed(self, made: Deferred, how: Callable[[Tensor], Tensor]) -> Deferred:
        """`made`, known to be a view of this."""
        made._origin = (self, how)
        return made

    @property
    def device(self) -> torch.device:
        """Where the result will be."""
        return self.leaves[0].device

    @property
    def requires_grad(self) -> bool:
        """Whether a leaf does."""
        return any(leaf.requires_grad for leaf in self.leaves)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    def dim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    def numel(self) -> int:
        """The number of elements."""
        return self.shape.numel()

    def size(self, dim: int | None = None) -> torch.Size | int:
        """The shape, or one of its sizes."""
        return self.shape if dim is None else self.shape[dim]

    def value(self) -> Tensor:
        """The result as an ordinary tensor of the autograd graph; computed once.

        Raises:
            UserError: it would be computed without gradients, as inside a custom autograd function, and the
                gradient would be lost without a word.
        """
        if self._value is None and self._origin is not None:
            before, how = self._origin
            return how(before.value()) if not torch.is_grad_enabled() else self._keep(how(before.value()))
        if self._value is not None:
            return self._value
        self.refuse_changed()
        if not torch.is_grad_enabled():
            if self.needs_grad_mode and self.requires_grad:
                raise UserError("memory.deferred_without_grad")
            return self.build(*self.leaves)
        return self._keep(self.build(*self.leaves))

    def _keep(self, value: Tensor) -> Tensor:
        self._value = value
        return value

    def refuse_changed(self) -> None:
        """Raise where a leaf was changed in place since: the result would be another one.

        Raises:
            UserError: it was.
        """
        if any(_version(leaf) != version for leaf, version in zip(self.leaves, self.versions, strict=True)):
            raise UserError("memory.deferred_changed")

    def then(
        self,
        more: Callable[..., Tensor],
        leaves: tuple[Tensor, ...] = (),
        *,
        shape: torch.Size | None = None,
        dtype: torch.dtype | None = None,
    ) -> Deferred:
        """This result with another step done to it: `more(result, *leaves)`."""
        before, count = self.build, len(self.leaves)

        def build(*tensors: Tensor) -> Tensor:
            return more(before(*tensors[:count]), *tensors[count:])

        return Deferred(build, (*self.leaves, *leaves), shape or self.shape, dtype or self.dtype)

    def reshaped(self, *sizes: Any, **named: Any) -> Any:  # noqa: ANN401 - a tensor or a Deferred
        """The same elements in another shape."""
        wanted: tuple[Any, ...] = (
            tuple(sizes[0]) if len(sizes) == 1 and isinstance(sizes[0], list | tuple) else sizes
        )
        if named or self.is_computed or not all(isinstance(size, int) for size in wanted):
            return self.value().reshape(*sizes, **named)
        shape = torch.Size(_resolved(wanted, self.numel()))

        def step(value: Tensor) -> Tensor:
            return value.reshape(shape)

        return self.viewed(self.then(step, shape=shape), step)

    reshape = reshaped

    def view(self, *sizes: Any) -> Any:  # noqa: ANN401 - a tensor or a Deferred
        """Another shape, or the same bytes as another type."""
        if len(sizes) == 1 and isinstance(sizes[0], torch.dtype):
            return self.value().view(sizes[0])
        return self.reshape(*sizes)

    def contiguous(self, **named: Any) -> Any:  # noqa: ANN401 - a tensor or a Deferred
        """Itself: elementwise results are contiguous."""
        return self.value().contiguous(**named) if named else self

    def float(self) -> Any:  # noqa: ANN401 - a tensor or a Deferred
        """As fp32."""
        return self.to(torch.float32)

    def to(self, *targets: Any, **named: Any) -> Any:  # noqa: ANN401 - a tensor or a Deferred
        """Another dtype is deferred too; another device is not."""
        wanted = named.get("dtype", targets[0] if len(targets) == 1 else None)
        alone = len(targets) + len(named) == 1
        if not isinstance(wanted, torch.dtype) or not alone or self.is_computed:
            return self.value().to(*targets, **named)
        if wanted == self.dtype:
            return self

        def step(value: Tensor) -> Tensor:
            return value.to(wanted)

        return self.then(step, dtype=wanted)

    def __mul__(self, other: Any) -> Any:  # noqa: ANN401 - a tensor or a Deferred
        if isinstance(other, Deferred):
            other = other.value()
        same = isinstance(other, Tensor) and other.shape == self.shape and other.dtype == self.dtype
        return self.then(torch.mul, (other,)) if same and not self.is_computed else self.value() * other

    __rmul__ = __mul__

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever a tensor has
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.value(), name)

    @classmethod
    def __torch_function__(
        cls,
        func: Callable[..., Any],
        types: tuple[type, ...],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:  # noqa: ANN401 - whatever the function gives
        """A Linear is fused with what is deferred; a product is deferred further; all else computes it."""
        named = kwargs or {}
        given: list[Any] = list(args)
        late = [item for item in given if isinstance(item, Deferred)]
        if len(late) == 1 and not late[0].is_computed:
            done = _fused(func, given, named)
            if done is not None:
                return done
        return func(*_computed(args), **_computed(named))

    def __len__(self) -> int:
        return self.shape[0]

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        return self.value().clone()


_PRODUCTS = frozenset(
    {torch.mul, torch.multiply, Tensor.mul, Tensor.__mul__, Tensor.__rmul__, Tensor.multiply}
)


def has_hooks(module: object) -> bool:
    """Whether a module has hooks that would see its input, its output or their gradients."""
    hooks = ("_forward_pre_hooks", "_forward_hooks", "_backward_hooks", "_backward_pre_hooks")
    return any(getattr(module, name) for name in hooks)


def _version(tensor: Tensor) -> int:
    """What tells that a tensor was changed in place; inference tensors cannot be."""
    return -1 if tensor.is_inference() else tensor._version  # noqa: SLF001 - torch's own counter


def _fused(func: Callable[..., Any], given: list[Any], named: dict[str, Any]) -> Any:  # noqa: ANN401
    """A Linear on a deferred input, or a product that is deferred further; None for all else."""
    if func is F.linear and len(given) >= 2 and isinstance(given[0], Deferred):
        bias = given[2] if len(given) > 2 else named.get("bias")
        return fused_linear(given[0], given[1], bias, transposed=False)
    if func is torch.addmm and len(given) == 3 and not named and isinstance(given[1], Deferred):
        return fused_linear(given[1], given[2], given[0], transposed=True) if given[0].dim() == 1 else None
    if func in _PRODUCTS and len(given) == 2 and not named:
        first, second = given
        return second * first if isinstance(first, Tensor) else first * second
    return None


def _operator(name: str) -> Callable[..., Any]:
    def work(self: Deferred, *others: Any) -> Any:  # noqa: ANN401 - whatever a tensor gives
        return getattr(self.value(), name)(*(_computed(other) for other in others))

    work.__name__ = name
    return work


def _computed(item: Any) -> Any:  # noqa: ANN401 - any nesting of arguments
    if isinstance(item, Deferred):
        return item.value()
    if isinstance(item, dict):
        return {key: _computed(value) for key, value in item.items()}
    if type(item) in {list, tuple}:
        return type(item)(_computed(value) for value in item)
    return item


def _resolved(shape: tuple[int, ...], elements: int) -> list[int]:
    known = 1
    for size in shape:
        known *= size if size != -1 else 1
    return [elements // max(1, known) if size == -1 else size for size in shape]


def fused_linear(x: Deferred, weight: Tensor, bias: Tensor | None, *, transposed: bool) -> Tensor:
    """`F.linear(x, weight, bias)`, or `addmm(bias, x, weight)` when transposed, keeping x's leaves."""
    if x.is_computed or not torch.is_grad_enabled() or not (x.requires_grad or weight.requires_grad):
        value = x.value()
        return torch.addmm(bias, value, weight) if transposed else F.linear(value, weight, bias)  # pyright: ignore[reportArgumentType]
    x.refuse_changed()
    return _RecomputedLinear.apply(x.build, transposed, weight, bias, *x.leaves)


class _RecomputedLinear(torch.autograd.Function):
    """A Linear on a deferred input: keeps the leaves, computes the input again for the weight's gradient."""

    @staticmethod
    def forward(
        ctx: Any,  # noqa: ANN401 - torch's context
        build: Build,
        transposed: bool,
        weight: Tensor,
        bias: Tensor | None,
        *leaves: Tensor,
    ) -> Tensor:
        ctx.build, ctx.transposed = build, transposed
        ctx.autocast = _autocast_state(weight.device)
        ctx.save_for_backward(weight, *leaves)
        value = build(*leaves)
        if transposed:
            return torch.addmm(bias, value, weight)  # pyright: ignore[reportArgumentType]
        return F.linear(value, weight, bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN401 - torch's context  # pyright: ignore[reportIncompatibleMethodOverride]
        (grad,) = grads
        weight, *kept = ctx.saved_tensors
        needs = ctx.needs_input_grad
        leaf_needs = needs[4:]
        with torch.enable_grad(), _autocast(ctx.autocast):
            leaves = [leaf.detach().requires_grad_(need) for leaf, need in zip(kept, leaf_needs, strict=True)]
            value = ctx.build(*leaves)
        rows = grad.reshape(-1, grad.shape[-1])
        weight_grad = bias_grad = None
        if needs[2]:
            inputs = value.detach().reshape(-1, value.shape[-1]).to(rows.dtype)
            weight_grad = (inputs.t() @ rows if ctx.transposed else rows.t() @ inputs).to(weight.dtype)
            del inputs
        if needs[3]:
            bias_grad = rows.sum(0).to(weight.dtype)
        leaf_grads: list[Tensor | None] = [None] * len(kept)
        wanted = [leaf for leaf, need in zip(leaves, leaf_needs, strict=True) if need]
        if wanted:
            across = weight.to(rows.dtype)
            through = (rows @ (across.t() if ctx.transposed else across)).view(value.shape).to(value.dtype)
            found = iter(torch.autograd.grad(value, wanted, through))
            leaf_grads = [next(found) if need else None for need in leaf_needs]
        return (None, None, weight_grad, bias_grad, *leaf_grads)


def _autocast_state(device: torch.device) -> tuple[str, torch.dtype] | None:
    kind = device.type
    if not torch.amp.is_autocast_available(kind) or not torch.is_autocast_enabled(kind):
        return None
    return kind, torch.get_autocast_dtype(kind)


def _autocast(state: tuple[str, torch.dtype] | None) -> AbstractContextManager[Any]:
    return nullcontext() if state is None else torch.autocast(state[0], dtype=state[1])


# Whatever else a tensor does with an operator, a deferred one does once it is computed.
_OPERATORS = (
    "abs add and bool contains eq float floordiv ge getitem gt int invert iter le lt matmul mod ne neg or "
    "pos pow radd rfloordiv rmatmul rmod rpow rsub rtruediv setitem sub truediv xor format index "
    "complex array"
)
for _name in _OPERATORS.split():
    if f"__{_name}__" not in Deferred.__dict__:
        setattr(Deferred, f"__{_name}__", _operator(f"__{_name}__"))
Deferred.__hash__ = object.__hash__
