"""Talking to a cluster, ours or any other, through kubectl."""

import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from testbed import binaries

T = TypeVar("T")


class KubectlError(RuntimeError):
    """What kubectl said when it failed."""


class Client:
    """A cluster as its kubeconfig's user sees it."""

    def __init__(self, kubeconfig: Path) -> None:
        """Take the file; it may be written later."""
        self.kubeconfig = kubeconfig

    def kubectl(self, *words: str, input: str | None = None, timeout_seconds: float = 120) -> str:  # noqa: A002
        """Run kubectl and return what it printed; raise `KubectlError` with its complaint."""
        program = binaries.kubectl() if binaries.kubectl().exists() else shutil.which("kubectl")
        cache = Path(tempfile.gettempdir()) / "headway-testbed-kubectl"
        where = ["--kubeconfig", str(self.kubeconfig), "--cache-dir", str(cache)]
        try:
            done = subprocess.run(
                [str(program), *where, *words],
                check=False,
                input=input,
                capture_output=True,
                text=True,
                timeout=timeout_seconds,
            )
        except subprocess.TimeoutExpired as error:
            raise KubectlError(f"kubectl {' '.join(words)}: no answer in {timeout_seconds:.0f} s") from error
        if done.returncode != 0:
            raise KubectlError(f"kubectl {' '.join(words)}: {done.stderr.strip()}")
        return done.stdout

    def apply(self, *manifests: dict[str, Any] | str, namespace: str = "") -> None:
        """Apply objects, given as dictionaries or YAML, by server-side apply."""
        where = ["-n", namespace] if namespace else []
        texts = [text if isinstance(text, str) else json.dumps(text) for text in manifests]
        words = ["apply", "--server-side", "--force-conflicts", "-f", "-"]
        self.kubectl(*where, *words, input="\n---\n".join(texts))

    def get(self, kind: str, name: str, namespace: str = "") -> dict[str, Any]:
        """One object."""
        where = ["-n", namespace] if namespace else []
        return json.loads(self.kubectl(*where, "get", kind, name, "-o", "json"))

    def list(self, kind: str, namespace: str = "", selector: str = "") -> list[dict[str, Any]]:
        """All objects of a kind in a namespace, or of a kind that has none."""
        where = [*(["-n", namespace] if namespace else []), *(["-l", selector] if selector else [])]
        return json.loads(self.kubectl(*where, "get", kind, "-o", "json"))["items"]

    def wait_for(self, condition: Callable[[], T], seconds: float, what: str) -> T:
        """What the condition returns once it is true; a failing kubectl is not yet true."""
        deadline = time.monotonic() + seconds
        while True:
            last = ""
            try:
                if found := condition():
                    return found
            except KubectlError as error:
                last = str(error)
            if time.monotonic() > deadline:
                raise TimeoutError(f"not within {seconds:.0f} s: {what}. {last}")
            time.sleep(0.3)
