"""Where settings are read from: the environment, and the file in the home folder."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, cast

import yaml
from pydantic import BeforeValidator
from pydantic.fields import FieldInfo
from pydantic_settings import EnvSettingsSource, YamlConfigSettingsSource
from pydantic_settings import SettingsError as SourceError


def split(separator: str) -> BeforeValidator:
    """A list that may be given as a text with something between its parts, as variables have it."""

    def parts(given: object) -> object:
        if not isinstance(given, str):
            return given
        return [part.strip() for part in given.split(separator) if part.strip()]

    return BeforeValidator(parts)


class Variables(EnvSettingsSource):
    """The environment. What it says of pools of sandboxes, whose settings have no types here, is YAML."""

    def explode_env_vars(
        self, field_name: str, field: FieldInfo, env_vars: Mapping[str, str | None]
    ) -> dict[str, Any]:
        found = super().explode_env_vars(field_name, field, env_vars)
        if field_name == "sandbox" and "pools" in found:
            found["pools"] = _values(found["pools"])
        return found


class File(YamlConfigSettingsSource):
    """The home's file; what is no mapping is refused by name."""

    def _read_file(self, file_path: Path | Traversable) -> dict[str, Any]:
        try:
            read: object = yaml.safe_load(file_path.read_text(encoding="utf-8"))
        except UnicodeDecodeError as error:
            raise SourceError(f"{file_path} is no UTF-8 ({error})") from error
        except ValueError as error:  # of what looks like a date and is none
            raise SourceError(f"{file_path}: {error}") from error
        if read is not None and not isinstance(read, dict):
            raise SourceError(f"{file_path} has to be a mapping of settings, e.g. port: 9000")
        return cast("dict[str, Any]", read or {})


def _values(given: Any) -> Any:
    if isinstance(given, dict):
        return {name: _values(value) for name, value in cast("dict[str, Any]", given).items()}
    return yaml.safe_load(given) if isinstance(given, str) else given
