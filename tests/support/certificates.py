"""Certificates of an authority that a test makes."""

from pathlib import Path

import trustme

from tests.support.redis_server import TlsCertificates


def issue_certificates(folder: Path) -> TlsCertificates:
    """Write a new authority to a folder, with a certificate and key for servers on 127.0.0.1 and their clients."""
    authority = trustme.CA()
    issued = authority.issue_cert("127.0.0.1")
    files = TlsCertificates(folder / "ca.pem", folder / "certificate.pem", folder / "key.pem")
    authority.cert_pem.write_to_path(str(files.ca_file))
    issued.cert_chain_pems[0].write_to_path(str(files.certificate_file))
    issued.private_key_pem.write_to_path(str(files.key_file))
    return files
