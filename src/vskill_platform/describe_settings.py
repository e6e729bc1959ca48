"""Every setting with its value and where it came from; secrets are not shown."""

import os
from collections.abc import Mapping
from datetime import timedelta

import msgspec

from vskill_platform.secret_settings import FILE_SUFFIX, hide_secrets
from vskill_platform.setting_values import format_duration
from vskill_platform.settings import Settings, variable


class SettingRow(msgspec.Struct, frozen=True):
    variable: str
    value: str
    #: `default`, `environment`, or `file` for a secret in a file.
    origin: str


def describe_settings(
    settings: Settings, environ: Mapping[str, str] | None = None
) -> list[SettingRow]:
    """Return a row for each setting; *environ* is where the settings were read from."""
    environ = os.environ if environ is None else environ
    return [
        SettingRow(
            variable(field.name),
            _show(getattr(settings, field.name)),
            _origin(variable(field.name), environ),
        )
        for field in msgspec.structs.fields(Settings)
    ]


def _origin(name: str, environ: Mapping[str, str]) -> str:
    if name + FILE_SUFFIX in environ:
        return "file"
    return "environment" if name in environ else "default"


def _show(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"  # the form in the environment
    return format_duration(value) if isinstance(value, timedelta) else hide_secrets(str(value))
