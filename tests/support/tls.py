"""TLS contexts for the certificate authority of the tests, which is the fixture `authority`."""

import ssl

import trustme


def trusting(authority: trustme.CA) -> ssl.SSLContext:
    """Return a client context that trusts this authority in addition to the system's."""
    context = ssl.create_default_context()
    authority.configure_trust(context)
    return context
