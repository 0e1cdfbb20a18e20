"""PURE. PyTorch's caching allocator for CUDA: what it reserves for a sequence of allocations and frees.

Rules and constants are those of `c10/cuda/CUDACachingAllocator.cpp`: sizes in steps of 512 bytes; requests up
to 1 MiB share segments of 2 MiB, up to 10 MiB of 20 MiB, larger ones get their own in steps of 2 MiB; the
smallest free block that fits is taken and split; blocks belong to the stream that asked for them. With
`expandable_segments` each stream and pool has one segment that grows by pages of 2 MiB (small) or 20 MiB.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable
from dataclasses import dataclass, field

from headway.errors import UserError
from headway.profile.step_types import Movement

MIB = 2**20
_LEAST = 512
_SMALL = MIB
_SMALL_SEGMENT = 2 * MIB
_LARGE_SEGMENT = 20 * MIB
_LARGE_REQUEST = 10 * MIB
_ROUND = 2 * MIB
_ADDRESS_SPACE = 2**60


@dataclass(frozen=True, slots=True)
class AllocatorSettings:
    """What `PYTORCH_CUDA_ALLOC_CONF` may say of it; the defaults are PyTorch's."""

    expandable_segments: bool = False
    max_split_bytes: int | None = None
    roundup_power2_divisions: int = 1


def settings_of(pairs: Iterable[tuple[str, str]]) -> AllocatorSettings:
    """The settings in a recipe.

    Raises:
        UserError: a setting that the model of the allocator does not have, or a value that is not one.
    """
    expandable, split, divisions = False, None, 1
    for key, value in pairs:
        if key == "expandable_segments" and value.lower() in {"true", "false"}:
            expandable = value.lower() == "true"
        elif key == "max_split_size_mb" and value.isdecimal():
            split = int(value) * MIB
        elif key == "roundup_power2_divisions" and value.isdecimal() and int(value) > 0:
            divisions = int(value)
        else:
            known = "expandable_segments, max_split_size_mb, roundup_power2_divisions"
            raise UserError("profile.bad_allocator_setting", key=key, value=value, known=known)
    return AllocatorSettings(expandable, split, divisions)


@dataclass(frozen=True, slots=True)
class Reserved:
    """Peaks of a sequence, in bytes: reserved from the device, and in blocks that are in use.

    `fits` is false when a request found no memory even after everything unused was given back.
    """

    reserved_bytes: int
    allocated_bytes: int
    fits: bool


def rounded(size: int, divisions: int = 1) -> int:
    """What a request becomes: steps of 512 bytes, or of a power of two's `divisions` part."""
    if size <= _LEAST:
        return _LEAST
    if divisions > 1 and size > _LEAST * divisions:
        power = 1 << (size.bit_length() - 1)
        if power == size:
            return size
        step = power // divisions
        return -(-size // step) * step
    return -(-size // _LEAST) * _LEAST


@dataclass(slots=True, eq=False)
class _Block:
    address: int
    size: int
    pool: _Pool
    segment: int
    free: bool = True
    mapped: bool = True
    before: _Block | None = None
    after: _Block | None = None


@dataclass(slots=True, eq=False)
class _Pool:
    """Free blocks of one stream and kind, by size, then address; an expandable segment's unmapped ones."""

    small: bool
    blocks: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    by_address: dict[int, _Block] = field(default_factory=dict[int, _Block])
    unmapped: list[_Block] = field(default_factory=list[_Block])

    def add(self, block: _Block) -> None:
        insort(self.blocks, (block.size, block.address))
        self.by_address[block.address] = block

    def remove(self, block: _Block) -> None:
        del self.blocks[bisect_left(self.blocks, (block.size, block.address))]
        del self.by_address[block.address]

    @property
    def page(self) -> int:
        return _SMALL_SEGMENT if self.small else _LARGE_SEGMENT


class CachingAllocator:
    """A simulated allocator; `capacity_bytes` bounds what it may reserve."""

    def __init__(self, settings: AllocatorSettings, capacity_bytes: int | None = None) -> None:
        self.reserved = 0
        self.allocated = 0
        self.reserved_peak = 0
        self.allocated_peak = 0
        self._settings = settings
        self._capacity = capacity_bytes
        self._pools: dict[tuple[int, bool], _Pool] = {}
        self._next = 0

    def allocate(self, size: int, stream: int = 0) -> _Block | None:
        """A block for `size` bytes, or None where there is no memory."""
        wanted = rounded(size, self._settings.roundup_power2_divisions)
        pool = self._pools.setdefault((stream, wanted <= _SMALL), _Pool(wanted <= _SMALL))
        block = self._find(pool, wanted) or self._new(pool, wanted)
        if block is None:
            self.release()
            block = self._find(pool, wanted) or self._new(pool, wanted)
        if block is None:
            return None
        if self._splits(block, wanted):
            self._split(block, wanted)
        block.free = False
        self.allocated += block.size
        self.allocated_peak = max(self.allocated_peak, self.allocated)
        return block

    def give_back(self, block: _Block) -> None:
        """End of a block's use; it stays reserved."""
        self.allocated -= block.size
        block.free = True
        self._merge(block)
        block.pool.add(block)

    def release(self) -> None:
        """Give unused whole segments (or pages of expandable ones) back to the device."""
        for pool in self._pools.values():
            for block in list(pool.by_address.values()):
                if self._settings.expandable_segments:
                    self._unmap(block)
                elif block.before is None and block.after is None:
                    pool.remove(block)
                    self.reserved -= block.size

    def _find(self, pool: _Pool, wanted: int) -> _Block | None:
        """The smallest free block that fits; one that could grow counts as endless."""
        at = bisect_left(pool.blocks, (wanted, -1))
        if at == len(pool.blocks):
            return None
        block = pool.by_address[pool.blocks[at][1]]
        if self._settings.expandable_segments:
            while _could_be(block) > block.size and at + 1 < len(pool.blocks):
                at += 1
                other = pool.by_address[pool.blocks[at][1]]
                if _could_be(other) >= _could_be(block):
                    break
                block = other
        limit = self._settings.max_split_bytes
        if limit is not None:
            too_large = wanted < limit <= block.size
            if too_large or (wanted >= limit and block.size >= wanted + _LARGE_SEGMENT):
                return None
        pool.remove(block)
        return block

    def _new(self, pool: _Pool, wanted: int) -> _Block | None:
        if self._settings.expandable_segments:
            return self._grow(pool, wanted)
        size = _SMALL_SEGMENT if wanted <= _SMALL else _LARGE_SEGMENT
        if wanted >= _LARGE_REQUEST:
            size = -(-wanted // _ROUND) * _ROUND
        if not self._reserve(size):
            return None
        block = _Block(self._next, size, pool, self._next)
        self._next += size + _ROUND
        return block

    def _reserve(self, size: int) -> bool:
        if self._capacity is not None and self.reserved + size > self._capacity:
            return False
        self.reserved += size
        self.reserved_peak = max(self.reserved_peak, self.reserved)
        return True

    def _splits(self, block: _Block, wanted: int) -> bool:
        rest = block.size - wanted
        if block.pool.small or self._settings.expandable_segments:
            return rest >= _LEAST
        limit = self._settings.max_split_bytes
        return rest > _SMALL and (limit is None or wanted < limit)

    def _split(self, block: _Block, wanted: int) -> None:
        rest = _Block(block.address + wanted, block.size - wanted, block.pool, block.segment)
        _link(block, rest, block.after)
        block.size = wanted
        block.pool.add(rest)

    def _merge(self, block: _Block) -> None:
        """Take in free neighbours that are mapped like the block."""
        before = block.before
        if before is not None and before.free and before.mapped == block.mapped:
            self._forget(before)
            block.address, block.size = before.address, block.size + before.size
            block.before = before.before
            if block.before is not None:
                block.before.after = block
        after = block.after
        if after is not None and after.free and after.mapped == block.mapped:
            self._forget(after)
            block.size += after.size
            block.after = after.after
            if block.after is not None:
                block.after.before = block

    def _forget(self, block: _Block) -> None:
        if block.mapped:
            block.pool.remove(block)
        else:
            block.pool.unmapped.remove(block)

    def _grow(self, pool: _Pool, wanted: int) -> _Block | None:
        """Map pages at the lowest address of the expandable segment where the request then fits."""
        if not pool.unmapped:
            pool.unmapped.append(_Block(self._next, _ADDRESS_SPACE, pool, self._next, mapped=False))
            self._next += 2 * _ADDRESS_SPACE
        for hole in sorted(pool.unmapped, key=lambda item: item.address):
            first = hole
            if hole.before is not None and hole.before.free:
                first = hole.before
            if _room(first) >= wanted:
                return self._map(first, wanted)
        return None

    def _map(self, first: _Block, wanted: int) -> _Block | None:
        block: _Block = first
        if not first.mapped:
            mapped = self._map_part(first, min(first.size, wanted))
            if mapped is None:
                return None
            block = mapped
        while block.size < wanted:
            hole = block.after
            assert hole is not None
            mapped = self._map_part(hole, min(hole.size, wanted - block.size))
            if mapped is None:
                return None
            block = mapped
        block.pool.remove(block)
        return block

    def _map_part(self, hole: _Block, size: int) -> _Block | None:
        pages = -(-size // hole.pool.page) * hole.pool.page
        if not self._reserve(pages):
            return None
        hole.pool.unmapped.remove(hole)
        if hole.size > pages:
            rest = _Block(hole.address + pages, hole.size - pages, hole.pool, hole.segment, mapped=False)
            _link(hole, rest, hole.after)
            hole.size = pages
            hole.pool.unmapped.append(rest)
        hole.mapped = True
        self._merge(hole)
        hole.pool.add(hole)
        return hole

    def _unmap(self, block: _Block) -> None:
        """Give back the pages that lie wholly within a free block."""
        if block.address not in block.pool.by_address:
            return
        page = block.pool.page
        start = -(-(block.address - block.segment) // page) * page + block.segment
        end = (block.address + block.size - block.segment) // page * page + block.segment
        if end <= start:
            return
        pool = block.pool
        pool.remove(block)
        if end < block.address + block.size:
            rest = _Block(end, block.address + block.size - end, pool, block.segment)
            _link(block, rest, block.after)
            pool.add(rest)
        if start > block.address:
            kept = _Block(block.address, start - block.address, pool, block.segment, before=block.before)
            if kept.before is not None:
                kept.before.after = kept
            kept.after, block.before = block, kept
            pool.add(kept)
        block.address, block.size, block.mapped = start, end - start, False
        self.reserved -= block.size
        self._merge(block)
        pool.unmapped.append(block)


def _link(first: _Block, middle: _Block, last: _Block | None) -> None:
    middle.before, middle.after = first, last
    first.after = middle
    if last is not None:
        last.before = middle


def _could_be(block: _Block) -> int:
    after = block.after
    return block.size + (after.size if after is not None and not after.mapped else 0)


def _room(block: _Block) -> int:
    total, at = 0, block
    while at is not None and at.free:
        total, at = total + at.size, at.after
    return total


def simulate(
    moves: Iterable[Movement], settings: AllocatorSettings, capacity_bytes: int | None = None
) -> Reserved:
    """What a sequence reserves; it stops at the first request that finds no memory."""
    allocator = CachingAllocator(settings, capacity_bytes)
    held: dict[int, _Block] = {}
    fits = True
    for move in moves:
        if move.bytes > 0:
            block = allocator.allocate(move.bytes, move.stream)
            if block is None:
                fits = False
                break
            held[move.block] = block
        elif move.block in held:
            allocator.give_back(held.pop(move.block))
    return Reserved(allocator.reserved_peak, allocator.allocated_peak, fits)
