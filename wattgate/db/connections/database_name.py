"""The name of a database in messages, and the file of an SQLite database."""

from pathlib import Path

from sqlalchemy.engine import URL

_SHOWN_OPTIONS = ("host", "port")
"""The options of a URL that say where the database is. Others can contain a password."""


def sqlite_file(url: URL) -> Path | None:
    """Return the file of an SQLite database. Return None for PostgreSQL, memory and URIs of SQLite."""
    name = url.database
    if url.get_backend_name() != "sqlite" or not name or name == ":memory:" or name.startswith("file:"):
        return None
    return Path(name)


def database_name(url: URL) -> str:
    """Return the absolute path of an SQLite file, or the URL without password and user name."""
    file = sqlite_file(url)
    if file is not None:
        return str(file.resolve())
    options = {name: value for name, value in url.query.items() if name in _SHOWN_OPTIONS}
    place = URL.create(url.get_backend_name(), host=url.host, port=url.port, database=url.database, query=options)
    return place.render_as_string()
