"""One task in a forked process beside another: traces are plain Python, and hold one core each.

A fork has all that was imported. It is for tasks that start no threads before: never for a user's code.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import TypeVar, cast

A = TypeVar("A")
B = TypeVar("B")


def both(here: Callable[[], A], there: Callable[[], B], *, fork: bool) -> tuple[A, B]:
    """The results of two tasks, at once where there is a second core and `fork` allows it.

    An error of either is raised, of `here` first. What a fork that died should have done is done here.
    """
    if not fork or sys.platform != "linux" or len(os.sched_getaffinity(0)) < 2:
        return here(), there()
    context = get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_tell, args=(sender, there), daemon=True)
    process.start()
    sender.close()
    try:
        mine = here()
        try:
            answer = cast("tuple[B | None, Exception | None]", receiver.recv())
        except EOFError:
            return mine, there()
    finally:
        process.kill()
        process.join()
        receiver.close()
    found, error = answer
    if error is not None:
        raise error
    return mine, cast("B", found)


def _tell(sender: Connection, task: Callable[[], object]) -> None:
    answer: tuple[object, Exception | None]
    try:
        answer = task(), None
    except Exception as error:  # noqa: BLE001 - raised again where it is waited for
        answer = None, error
    sender.send(answer)
