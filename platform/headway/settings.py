"""Settings of this installation, and where each value comes from.

Precedence: environment, then `config.yaml` in HEADWAY_HOME, then the default. Nothing else in the product
reads these variables.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from headway.errors import ConfigError

_DEFAULTS: dict[str, str] = {
    "home": "~/.headway",
    "sites": "",
    "price_book": "",
    "storage": "",
    "ray_address": "",
    "durable_seconds": "2",
    "start_timeout_seconds": "180",
    "address": "http://127.0.0.1:8270",
    "token": "",
    "blobs": "",
    "webhook": "",
    "cluster": "",
}
_VARIABLES: dict[str, str] = {name: f"HEADWAY_{name.upper()}" for name in _DEFAULTS}
_VARIABLES["ray_address"] = "RAY_ADDRESS"


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting's value and its origin (`default`, a file, or an environment variable)."""

    name: str
    value: str
    origin: str


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings, resolved once at start."""

    values: tuple[Setting, ...]

    @classmethod
    def load(cls) -> Settings:
        """Resolve every setting now.

        Raises:
            ConfigError: the file has an unknown key or is not `key: value` lines; a number is not one.
        """
        home = _one("home", {}, Path())
        path = Path(home.value).expanduser() / "config.yaml"
        file = _read(path)
        values = [home, *(_one(name, file, path) for name in _DEFAULTS if name != "home")]
        for setting in values:
            if setting.name.endswith("_seconds"):
                _check_number(setting)
        return cls(tuple(values))

    def get(self, name: str) -> str:
        """One value."""
        return next(setting.value for setting in self.values if setting.name == name)

    def seconds(self, name: str) -> float:
        """One value as seconds."""
        return float(self.get(name))

    @property
    def home(self) -> Path:
        """Where the ledger, logs and checkpoints are."""
        return Path(self.get("home")).expanduser().absolute()

    @property
    def ledger_path(self) -> Path:
        """The embedded ledger."""
        return self.home / "ledger.db"

    @property
    def sites_path(self) -> Path | None:
        """The user's sites file: as set, else `sites.yaml` in the home where there is one."""
        given = self.get("sites")
        if given:
            return Path(given).expanduser().absolute()
        usual = self.home / "sites.yaml"
        return usual if usual.is_file() else None

    @property
    def price_book_path(self) -> Path | None:
        """The user's price book: as set, else `prices.yaml` in the home where there is one."""
        given = self.get("price_book")
        if given:
            return Path(given).expanduser().absolute()
        usual = self.home / "prices.yaml"
        return usual if usual.is_file() else None

    @property
    def cluster_path(self) -> Path | None:
        """The file that describes the cluster where runs go; without it they run on this machine."""
        given = self.get("cluster")
        return Path(given).expanduser().absolute() if given else None

    def run_folder(self, run_id: str) -> Path:
        """Where one run keeps its logs and control files."""
        return self.home / "runs" / run_id

    @property
    def storage_path(self) -> Path:
        """Where checkpoints go when the job does not say."""
        given = self.get("storage")
        return Path(given).expanduser().absolute() if given else self.home / "storage"


def _one(name: str, file: dict[str, str], path: Path) -> Setting:
    variable = _VARIABLES[name]
    if os.environ.get(variable):
        return Setting(name, os.environ[variable], f"environment {variable}")
    if name in file:
        return Setting(name, file[name], str(path))
    return Setting(name, _DEFAULTS[name], "default")


def _check_number(setting: Setting) -> None:
    try:
        good = 0 < float(setting.value) < 1e6
    except ValueError:
        good = False
    if not good:
        raise ConfigError("config.bad_seconds", name=setting.name, value=setting.value, origin=setting.origin)


def _read(path: Path) -> dict[str, str]:
    if not path.is_file():
        return {}
    values: dict[str, str] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        stripped = line.split("#", 1)[0].strip()
        if not stripped:
            continue
        key, colon, value = stripped.partition(":")
        name = key.strip()
        if not colon or name not in _DEFAULTS or name == "home":
            known = ", ".join(sorted(set(_DEFAULTS) - {"home"}))
            raise ConfigError("config.bad_line", path=path, line=number, text=stripped, known=known)
        values[name] = value.strip().strip("\"'")
    return values
