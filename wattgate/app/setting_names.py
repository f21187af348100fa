"""Names of settings in the environment and in `.env`: report unknown ones instead of ignoring them."""

import unicodedata
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any
from urllib.parse import urlsplit

from pydantic import ValidationInfo, field_validator
from pydantic_settings import BaseSettings, DotEnvSettingsSource, EnvSettingsSource, PydanticBaseSettingsSource

from wattgate.app.setting_sources import ENV_FILE, PREFIX

COMMAND_VARIABLES = frozenset({f"{PREFIX}{name}" for name in ("URL", "TOKEN", "USER", "PASSWORD", "APPLICATION")})
"""Variables of the environment that are options of commands, not settings."""

TEST_PREFIX = f"{PREFIX}TEST_"
"""Prefix of the variables of the test suite. They are ignored, unless one is nearly the name of a setting."""

MIN_SIMILARITY = 0.6
"""Similarity, from 0 to 1, from which a setting is suggested for an unknown name."""

MIN_TEST_SIMILARITY = 0.8
"""Similarity from which a name with TEST_PREFIX counts as a misspelt setting."""

ENVIRONMENT = "the environment"
"""Where an unknown setting was found, if not in ENV_FILE: the input of the error that pydantic raises for it."""


def nearest_setting(name: str, fields: Iterable[str], similarity: float = MIN_SIMILARITY) -> str | None:
    """Return the setting whose name is most similar to an unknown one, or None if none is similar."""
    requested = name.upper()
    while requested.startswith(PREFIX):
        requested = requested.removeprefix(PREFIX)
    nearest = get_close_matches(requested, [field.upper() for field in fields], n=1, cutoff=similarity)
    return f"{PREFIX}{nearest[0]}" if nearest else None


def is_test_variable(name: str, fields: Iterable[str]) -> bool:
    """Return whether a variable belongs to the test suite."""
    return name.startswith(TEST_PREFIX) and nearest_setting(name, fields, MIN_TEST_SIMILARITY) is None


class StrictEnvironment(EnvSettingsSource):
    """The settings of the environment, and each unknown variable with PREFIX, which then is a forbidden setting."""

    def __call__(self) -> dict[str, Any]:
        fields = self.settings_cls.model_fields
        variables = [name for name in self.env_vars if name.upper().startswith(PREFIX)]
        unknown = [name for name in _unknown(variables, fields) if name not in COMMAND_VARIABLES]
        return super().__call__() | dict.fromkeys(unknown, ENVIRONMENT)


class StrictEnvFile(DotEnvSettingsSource):
    """The settings of `.env`, and each of its other lines, which then is a forbidden setting."""

    def __call__(self) -> dict[str, Any]:
        fields = self.settings_cls.model_fields
        settings = {name: value for name, value in super().__call__().items() if name in fields}
        return settings | dict.fromkeys(_unknown(self.env_vars, fields), ENV_FILE)


class StrictSettings(BaseSettings):
    """Settings that reject unknown names of the environment and of `.env`. Subclasses forbid extra settings.

    White space around the address of a server, such as the line break at the end of a file, is removed.
    """

    @field_validator("*", mode="before")
    @classmethod
    def _strip_addresses(cls, value: Any, info: ValidationInfo) -> Any:
        is_address = info.field_name is not None and info.field_name.endswith("_url")
        return _strip_address(value) if is_address and isinstance(value, str) else value

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Return the sources of settings, first the ones that override the others."""
        assert isinstance(dotenv_settings, DotEnvSettingsSource)
        environment = StrictEnvironment(settings_cls)
        if dotenv_settings.env_file is None:
            return init_settings, environment
        return init_settings, environment, StrictEnvFile(settings_cls, env_file=dotenv_settings.env_file)


def _unknown(variables: Iterable[str], fields: Mapping[str, Any]) -> list[str]:
    """Return the variables, in capitals, that are neither a setting nor one of the test suite."""
    known = {f"{PREFIX}{field.upper()}" for field in fields}
    names = map(str.upper, variables)
    return [name for name in names if name not in known and not is_test_variable(name, fields)]


def _strip_address(written: str) -> str:
    """Return a URL without white space around it. Raise ValueError if it is none; the message has no password."""
    url = written.strip()
    if any(unicodedata.category(character) == "Cc" for character in url):
        raise ValueError("has a line break or another control character. Remove it")
    try:
        urlsplit(url)
    except ValueError:  # its message can contain a password
        raise ValueError("is not a URL. Check the brackets and special characters of its host") from None
    return url
