"""Checks of the values of settings, before a gateway starts. Each raises ValueError with what to write instead."""

import re
import sys
import unicodedata
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import SecretStr, ValidationInfo
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from wattgate.app.application_ids import SAMPLE_APPLICATION_ID, parse_application_id
from wattgate.db.encryption.key_ring import parse_keys, read_keys
from wattgate.delivery import egress
from wattgate.delivery.channels.smtp import SmtpServer
from wattgate.delivery.channels.web_push import Vapid
from wattgate.delivery.mail_addresses import AllowList, parse_mailbox
from wattgate.realtime.redis_url import RedisServers, TlsFiles
from wattgate.realtime.server_address import ServerAddress
from wattgate.requests.request_limits import ADDRESS_PART
from wattgate.tls import client_context

MQTT_REQUIREMENTS = ("aiomqtt>=2.5,<2.6", "paho-mqtt>=2.1,<2.3")

SUPPORTED_DATABASES = ("sqlite", "postgresql", "postgres")

WRITE_URL = "Write sqlite:///FILE or postgresql://user:password@host/name"


def strip_address(written: str) -> str:
    """Return a URL without white space around it. Raise ValueError if it is none; the message has no password."""
    url = written.strip()
    if any(unicodedata.category(character) == "Cc" for character in url):
        raise ValueError("has a line break or another control character. Remove it")
    try:
        urlsplit(url)
    except ValueError:  # its message can contain a password
        raise ValueError("is not a URL. Check the brackets and special characters of its host") from None
    return url


def check_display_application_id(text: str | None) -> str | None:
    if text is None:
        return None
    application_id = parse_application_id(text)
    if application_id is None:
        raise ValueError(
            f"is not an application ID such as {SAMPLE_APPLICATION_ID}; `wattgate app list` prints the IDs"
        )
    return application_id


def check_redis_url(url: str | None) -> str | None:
    if url is not None:
        RedisServers.from_url(url)
    return url


def check_redis_files(file: Path | None, info: ValidationInfo) -> Path | None:
    if file is None:
        return None
    if not (info.data.get("redis_url") or "").startswith("rediss"):
        raise ValueError("is used only with TLS: write WATTGATE_REDIS_URL with rediss instead of redis")
    if info.field_name == "redis_key_file":
        return file  # it is read together with its certificate
    try:
        if info.field_name == "redis_ca_file":
            TlsFiles(ca_file=file).create_context()
        else:
            TlsFiles(certificate_file=file, key_file=info.data.get("redis_key_file")).create_context()
    except OSError as error:
        raise ValueError(f"cannot be read as PEM: {error}. Check the file and its permissions") from None
    return file


def check_database_url(url: str) -> str:
    backend = _backend_of(url)
    if backend not in SUPPORTED_DATABASES:
        raise ValueError(f"names the database {backend}, which is not supported. {WRITE_URL}")
    return url


def check_replica_url(url: str | None, info: ValidationInfo) -> str | None:
    if url is None:
        return None
    if not all(_backend_of(address).startswith("postgres") for address in (url, info.data.get("database_url", url))):
        raise ValueError(
            "needs PostgreSQL, here and in WATTGATE_DATABASE_URL. Write both as "
            "postgresql://user:password@host/name, or unset this setting"
        )
    return url


def check_secret_keys(keys: SecretStr | None) -> SecretStr | None:
    if keys is not None:
        parse_keys(keys.get_secret_value())
    return keys


def check_secret_keys_file(file: Path | None, info: ValidationInfo) -> Path | None:
    if file is not None:
        if info.data.get("secret_keys") is not None:
            raise ValueError("cannot be set together with WATTGATE_SECRET_KEYS. Unset one of both")
        read_keys(file)
    return file


def check_base_path(path: str) -> str:
    if not path.startswith("/") or path.endswith("/"):
        raise ValueError("must begin with a slash and must not end with one. Write a path such as /api")
    return path


def check_push_url(url: str | None) -> str | None:
    if url is not None:
        try:
            egress.parse_destination(url, egress.ALLOW_ALL)
        except egress.BlockedDestination as refused:
            raise ValueError(f"{refused}. Write one such as https://push.example/send") from None
    return url


def check_web_push_key(key: SecretStr | None) -> SecretStr | None:
    if key is not None:
        Vapid(key.get_secret_value(), "")
    return key


def check_web_push_contact(contact: str | None, info: ValidationInfo) -> str | None:
    if info.data.get("web_push_key") is None:
        return contact
    if contact is None or not contact.startswith(("mailto:", "https:")):
        raise ValueError("is required with WATTGATE_WEB_PUSH_KEY: an address that begins with mailto: or https:")
    return contact


def check_smtp_url(url: str | None) -> str | None:
    if url is not None:
        SmtpServer.from_url(url)
    return url


_LOOPBACK = re.compile(r"localhost|::1|127(\.\d{1,3}){3}")
"""The hosts that no other machine reaches."""


def check_mail_outbox(is_shown: bool | None, info: ValidationInfo) -> bool | None:
    """Refuse the page in a gateway that others reach, because mails contain codes that set a new password."""
    if not is_shown:
        return is_shown
    host = str(info.data.get("host"))
    if not _LOOPBACK.fullmatch(host):
        raise ValueError(
            "shows mails and their codes without a log-in, so it needs a WATTGATE_HOST of this machine. Write "
            "WATTGATE_HOST=127.0.0.1, or set WATTGATE_SMTP_URL instead"
        )
    if info.data.get("trusted_proxies"):
        raise ValueError(
            "shows mails and their codes without a log-in, so it cannot be used with WATTGATE_TRUSTED_PROXIES"
        )
    return is_shown


def check_smtp_ca_file(file: Path | None) -> Path | None:
    if file is not None:
        try:
            client_context(file)
        except OSError as error:
            raise ValueError(f"cannot be read as PEM certificates: {error}. Check the file") from None
    return file


def require_with_smtp(value: str | SecretStr | None, info: ValidationInfo) -> str | SecretStr | None:
    if value is None and info.data.get("smtp_url"):
        raise ValueError("is required with WATTGATE_SMTP_URL. Set it, or unset WATTGATE_SMTP_URL")
    return value


def check_mail_from(written: str | None, info: ValidationInfo) -> str | None:
    require_with_smtp(written, info)
    if written is not None and parse_mailbox(written).is_international:
        raise ValueError("is an address that some mail servers reject; use only ASCII before the @")
    return written


def check_public_url(url: str | None, info: ValidationInfo) -> str | None:
    require_with_smtp(url, info)
    if url is not None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise ValueError("is not the address of a web site. Write one such as https://energy.example")
    return url


def check_test_addresses(written: list[str]) -> list[str]:
    AllowList.from_texts(written)
    return written


def check_kept_body_bytes(size: int | None, info: ValidationInfo) -> int | None:
    smallest = ADDRESS_PART * int(info.data.get("max_body_bytes", 0))
    if size is not None and size < smallest:
        raise ValueError(
            f"must be at least {ADDRESS_PART} times WATTGATE_MAX_BODY_BYTES, which is {smallest}: one network address "
            f"has a part of 1/{ADDRESS_PART}. Set a larger value, or a smaller WATTGATE_MAX_BODY_BYTES"
        )
    return size


def check_mqtt_url(url: str | None) -> str | None:
    if url is not None:
        ServerAddress.from_mqtt_url(url)
        if find_spec("aiomqtt") is None:
            packages = " ".join(f"'{requirement}'" for requirement in MQTT_REQUIREMENTS)
            raise ValueError(f"needs a package: run `{sys.executable} -m pip install {packages}`")
    return url


def check_mqtt_application_id(application_id: str | None, info: ValidationInfo) -> str | None:
    if info.data.get("mqtt_url") and not application_id:
        raise ValueError("is required with WATTGATE_MQTT_URL: the ID of the application that owns the displays")
    return application_id


def check_mqtt_topics(topics: list[str]) -> list[str]:
    for topic in topics:
        if not is_topic_filter(topic):
            raise ValueError(f"{topic!r} is not a valid MQTT topic filter. Write one such as glow/+/STATE")
    return topics


def _backend_of(url: str) -> str:
    try:
        return make_url(url).get_backend_name()
    except (ArgumentError, ValueError):
        raise ValueError(f"is not a database URL. {WRITE_URL}") from None


_FILTER = re.compile(r"(?:(?:\+|[^+#/\0]*)/)*(?:\+|#|[^+#/\0]*)")


def is_topic_filter(text: str) -> bool:
    """Return whether a text is a valid MQTT topic filter.

    The wildcards `+` and `#` must be the only character of their level, and `#` must be in the last level.
    """
    return bool(text) and _FILTER.fullmatch(text) is not None
