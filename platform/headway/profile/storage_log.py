"""Every storage of a traced step: when it comes, when it goes, what it is for.

A dispatch mode above a `FakeTensorMode` sees each operation below autograd, so a storage's life is exact and
nothing is allocated. What selective recompute keeps is seen too, which `saved_tensors_hooks` would miss.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, cast

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry

from headway.profile.engine import in_backward, stream_of_cpu
from headway.profile.step_types import CATEGORIES, PLACES, Category, Movement, Place, Rules, Work

FORWARD: tuple[Place, ...] = ("forward_start", "forward", "forward_end")


@dataclass(slots=True)
class Block:
    """One storage's life: index of its first and last movement, and what it is for where that is known."""

    bytes: int
    place: Place
    stream: int
    start: int
    end: int | None = None
    category: Category | None = None


def _local(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor itself, or what this rank holds of a sharded one."""
    return cast("torch.Tensor", getattr(tensor, "_local_tensor", tensor))


def storages_of(tensors: Iterable[object]) -> list[torch.UntypedStorage]:
    """The storages of tensors (sharded ones: this rank's), each once."""
    found: dict[int, torch.UntypedStorage] = {}
    for tensor in tensors:
        if isinstance(tensor, torch.Tensor):
            storage = _local(tensor).untyped_storage()
            found[id(storage)] = storage
    return list(found.values())


class StorageLog(TorchDispatchMode):
    """Records storages while it is entered; `place` is set by who runs the step."""

    def __init__(self, fake: FakeTensorMode, rules: Rules) -> None:
        super().__init__()
        self.place: Place = "forward_start"
        self.blocks: list[Block] = []
        self.moves: list[Movement] = []
        self.move_places: list[Place] = []
        self.live_bytes = 0
        self.flops: dict[str, int] = {"forward": 0, "backward": 0, "recompute": 0}
        self.moved_bytes = 0
        self._fake = fake
        self.rules: Rules = rules
        self._known: dict[int, tuple[weakref.ref[torch.UntypedStorage], int]] = {}
        self._streams: dict[int, int] = {}
        self._resize: Callable[..., Any] = torch.UntypedStorage.resize_
        self._old_streams: list[object] = []
        self._closed = False

    def hold(self, tensors: Iterable[object], category: Category) -> None:
        """Say that tensors which exist already, or were seen, belong to a category."""
        for storage in storages_of(tensors):
            index = self._index(storage)
            if index is None:
                index = self._begin(storage, storage.nbytes())
            self.blocks[index].category = category

    def __enter__(self) -> Self:
        log = self

        def resize(self: torch.UntypedStorage, size: int) -> Any:  # noqa: ANN401 - as torch's
            # FSDP frees and brings back gathered parameters by resizing; no operation is dispatched.
            done = log._resize(self, size)
            log._end(id(self))
            if size:
                log.blocks[log._begin(self, size)].category = "parameters"
            return done

        torch.UntypedStorage.resize_ = resize
        super().__enter__()
        return self

    def __exit__(self, *problem: object) -> None:
        torch.UntypedStorage.resize_ = self._resize
        self._closed = True  # the model's own end is no part of the step
        super().__exit__(*problem)

    def __torch_dispatch__(
        self,
        func: Any,  # noqa: ANN401 - torch's interface
        types: Sequence[type],
        args: tuple[object, ...] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> Any:  # noqa: ANN401 - whatever the operation gives
        if any(issubclass(kind, torch.Tensor) and kind.__name__ == "DTensor" for kind in types):
            return NotImplemented
        given = kwargs or {}
        result = func(*args, **given)
        new = self._note(result)
        self._count(func, args, given, result, new)
        return result

    def _note(self, result: object) -> int:
        """Take up the storages of a result that are new; their bytes."""
        new = 0
        for leaf in tree_leaves(result):
            if not isinstance(leaf, FakeTensor) or leaf.fake_mode is not self._fake:
                continue
            storage = leaf.untyped_storage()
            if self._index(storage) is None and storage.nbytes():
                self._begin(storage, storage.nbytes())
                new += storage.nbytes()
        return new

    def _count(
        self,
        func: Any,  # noqa: ANN401 - torch's operation
        args: tuple[object, ...],
        kwargs: Mapping[str, object],
        result: object,
        new: int,
    ) -> None:
        packet = func._overloadpacket  # noqa: SLF001 - its public name is of a string
        if not getattr(func, "is_view", False):
            read = sum(storage.nbytes() for storage in storages_of(tree_leaves((args, kwargs))))
            self.moved_bytes += read + new
        if packet in flop_registry:
            # Backward runs without gradients; a forward within it is recompute.
            backward = in_backward()
            kind = "forward" if not backward else "recompute" if torch.is_grad_enabled() else "backward"
            self.flops[kind] += int(flop_registry[packet](*args, **kwargs, out_val=result))

    def _index(self, storage: torch.UntypedStorage) -> int | None:
        known = self._known.get(id(storage))
        return known[1] if known is not None and known[0]() is storage else None

    def _begin(self, storage: torch.UntypedStorage, size: int) -> int:
        index = self._start(size)
        key = id(storage)
        self._known[key] = (weakref.ref(storage, lambda _gone: self._end(key)), index)
        return index

    def _start(self, size: int) -> int:
        stream = self._stream()
        self.blocks.append(Block(size, self.place, stream, len(self.moves)))
        self._move(len(self.blocks) - 1, size, stream)
        return len(self.blocks) - 1

    def _stream(self) -> int:
        """The stream that FSDP set: its module for CPU has the same interface as that for CUDA."""
        current, default = stream_of_cpu()
        if not self._old_streams:
            self._old_streams.append(default)
        for number, seen in enumerate(self._old_streams):
            if seen is current:
                return number
        self._old_streams.append(current)
        return len(self._old_streams) - 1

    def _end(self, key: int) -> None:
        known = self._known.pop(key, None)
        if known is not None and not self._closed:
            block = self.blocks[known[1]]
            block.end = len(self.moves)
            self._move(known[1], -block.bytes, block.stream)

    def _move(self, block: int, size: int, stream: int) -> None:
        self.moves.append(Movement(block, size, stream))
        self.move_places.append(self.place)
        self.live_bytes += size


def places(log: StorageLog, extra: Mapping[Category, int] | None = None) -> dict[str, dict[str, int]]:
    """For each place of a step the bytes by category at its worst moment, constant `extra` bytes included."""
    live = 0
    worst: dict[Place, tuple[int, int]] = {}
    for number, move in enumerate(log.moves):
        live += move.bytes
        place = log.move_places[number]
        if live > worst.get(place, (-1, 0))[0]:
            worst[place] = (live, number)
    boundary = next((at for at, place in enumerate(log.move_places) if place not in FORWARD), len(log.moves))
    constant = dict(extra or {})
    found: dict[str, dict[str, int]] = {}
    for place in PLACES:
        if place in worst:
            at = worst[place][1]
            parts: dict[str, int] = {name: constant.get(name, 0) for name in CATEGORIES}
            for block in log.blocks:
                if block.start <= at and (block.end is None or block.end > at):
                    parts[_category(block, boundary)] += block.bytes
            found[place] = parts
    return found


def work(log: StorageLog) -> Work:
    """The operations and bytes moved of a log."""
    return Work(log.flops["forward"], log.flops["backward"], log.flops["recompute"], log.moved_bytes)


def _category(block: Block, loss_starts: int) -> Category:
    """What a storage is for: as said, or by when it lived."""
    if block.category is not None:
        return block.category
    if block.stream:
        return "communication"
    if block.place == "loss":
        return "loss_head"
    kept = block.end is None or block.end > loss_starts
    return "activations" if block.place in FORWARD and kept else "temporaries"
