"""Every setting with its value and where it came from; secrets are not shown."""

import os
import re
from collections.abc import Mapping
from datetime import timedelta

import msgspec

from vskill_platform.secret_settings import FILE_SUFFIX
from vskill_platform.setting_values import format_duration
from vskill_platform.settings import Settings, variable

#: Users and passwords in URLs, and parameters and fields with secrets: some servers want them.
_IN_URL = re.compile(r"(?<=://)[^\s\"',/?#]*@")
_CONFIDENTIAL = r"[\w.-]*(?:key|token|secret|passw|pwd|signature|auth)[\w.-]*"
_PARAMETER = re.compile(rf"(?i)(?<=[?&])({_CONFIDENTIAL}=)[^&#\s\"',]+")
_FIELD = re.compile(rf"(?i)(\"{_CONFIDENTIAL}\"\s*:\s*)\"(?:[^\"\\]|\\.)*\"")
_HIDDEN = "(hidden)"


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
    return format_duration(value) if isinstance(value, timedelta) else _without_secrets(str(value))


def _without_secrets(text: str) -> str:
    """Return the text of a setting without secrets in URLs and JSON."""
    text = _IN_URL.sub(f"{_HIDDEN}@", text)
    text = _PARAMETER.sub(rf"\g<1>{_HIDDEN}", text)
    return _FIELD.sub(rf'\g<1>"{_HIDDEN}"', text)
