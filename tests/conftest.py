"""What holds for all tests: none depends on the machine being, or not being, an EC2 instance.

With `-n`, all that starts Ray, or a browser, runs in one process each, the longest first: two Rays at once
would fight over a small machine, and the fault tests end every run that they did not find.
"""

import os

import pytest

os.environ["AWS_EC2_METADATA_DISABLED"] = "true"

_TOGETHER = {"faults": "ray", "real": "ray", "browser": "browser"}
_FIRST = {"faults": 0, "real": 1, "browser": 2}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The folder of a test says with which others it runs, and when."""
    for item in items:
        group = _TOGETHER.get(_folder(item))
        if group is not None:
            item.add_marker(pytest.mark.xdist_group(group))
    items.sort(key=lambda item: _FIRST.get(_folder(item), len(_FIRST)))


def _folder(item: pytest.Item) -> str:
    return item.path.relative_to(item.config.rootpath / "tests").parts[0]
