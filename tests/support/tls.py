"""TLS for the tests: what trusts their certificate authority. The authority is the fixture `authority`."""

import ssl

import trustme


def trusting(authority: trustme.CA) -> ssl.SSLContext:
    """Return a client's context that trusts an authority too."""
    context = ssl.create_default_context()
    authority.configure_trust(context)
    return context
