"""The files of deploy/, for the tests that read them."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
IGNORED = frozenset({"__pycache__", ".env", "tls"})
"""Names of files and folders that are not in the repository: the values and the certificate of a user."""


def deployed_files() -> list[str]:
    """Return the path of each file in deploy/, relative to it."""
    files = (path for path in DEPLOY.rglob("*") if path.is_file())
    return sorted(str(path.relative_to(DEPLOY)) for path in files if not IGNORED & set(path.parts))
