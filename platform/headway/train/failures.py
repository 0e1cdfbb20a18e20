"""Which failure class an error of Ray Train belongs to."""

from __future__ import annotations

from collections.abc import Iterator

_OOM = ("OutOfMemoryError", "MemoryError", "OutOfDiskError")
_INFRA = (
    "ActorDiedError",
    "ActorUnavailableError",
    "RayActorError",
    "WorkerCrashedError",
    "WorkerHealthCheckFailedError",
    "WorkerHealthCheckTimeoutError",
    "NodeDiedError",
    "RaySystemError",
    "ConnectionError",
    "ConnectionResetError",
    "DistNetworkError",
    "DistBackendError",
)
# A peer's collective call fails so when a worker's process is gone (gloo has no exception of its own).
_PEER_LOST = ("Connection closed by peer", "Connection reset by peer", "Broken pipe")
_START = ("WorkerGroupStartupTimeoutError", "WorkerGroupStartupFailedError")
_HANG = ("NCCLHangError",)


def classify_error(error: BaseException) -> dict[str, str]:
    """The class (`user`, `oom`, `infra`, `start-timeout`, `hang`) and the error's first line.

    A dead worker makes its peers fail in their collective calls: if any worker died, the whole failure is
    `infra`, whatever the others say.
    """
    chain = list(_everything(error))
    names = {kind.__name__ for item in chain for kind in type(item).__mro__}
    text = " ".join(str(item) for item in chain)

    def any_of(known: tuple[str, ...]) -> bool:
        return any(name in names or f"{name}:" in text or f".{name}(" in text for name in known)

    if any_of(_OOM):
        found = "oom"
    elif any_of(_HANG):
        found = "hang"
    elif any_of(_INFRA) or any(words in text for words in _PEER_LOST):
        found = "infra"
    elif any_of(_START):
        found = "start-timeout"
    else:
        found = "user"
    return {"failure_class": found, "reason": _reason(chain)}


def _everything(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    stack: list[BaseException | None] = [error]
    while stack:
        item = stack.pop()
        if item is None or id(item) in seen:
            continue
        seen.add(id(item))
        yield item
        workers = getattr(item, "worker_failures", None)
        if isinstance(workers, dict):
            stack.extend(value for value in workers.values() if isinstance(value, BaseException))
        stack.extend((item.__cause__, item.__context__, getattr(item, "_base_exc", None)))


def _reason(chain: list[BaseException]) -> str:
    deepest = next((item for item in reversed(chain) if str(item).strip()), chain[0])
    lines = [line.strip() for line in str(deepest).splitlines() if line.strip()]
    return f"{type(deepest).__name__}: {lines[-1] if lines else ''}"[:300]
