"""TLS of the connections that the gateway opens."""

import ssl
from pathlib import Path


def client_context(ca_file: Path | None = None) -> ssl.SSLContext:
    """Return a context that verifies servers, by a PEM file of trusted authorities or by those of the system.

    Raise OSError if the file cannot be read.
    """
    context = ssl.create_default_context(cafile=ca_file)
    context.minimum_version = ssl.TLSVersion.TLSv1_2  # some builds of Python leave the minimum to OpenSSL's settings
    return context
