"""Certificates of an authority that a test makes."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import trustme

from tests.support.redis_server import TlsCertificates


def issue_certificates(folder: Path, *, days: int = 365) -> TlsCertificates:
    """Write a new authority to a folder, with a certificate and key for servers on 127.0.0.1 and their clients.

    The certificate ends after this number of days. If the number is negative, it has ended.
    """
    authority = trustme.CA()
    now = datetime.now(UTC)
    issued = authority.issue_cert(
        "127.0.0.1", not_before=now - timedelta(days=30), not_after=now + timedelta(days=days)
    )
    files = TlsCertificates(folder / "ca.pem", folder / "certificate.pem", folder / "key.pem")
    authority.cert_pem.write_to_path(str(files.ca_file))
    issued.cert_chain_pems[0].write_to_path(str(files.certificate_file))
    issued.private_key_pem.write_to_path(str(files.key_file))
    return files
