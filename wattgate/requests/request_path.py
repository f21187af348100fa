"""The path of a request, with the segments that a proxy in front of the gateway sees.

An encoded slash (%2F) belongs to its segment (RFC 3986, 2.2). If it separated segments, the gateway would serve paths
that the rules of a proxy do not know.
"""

import re
from urllib.parse import unquote

_SLASHES = re.compile(r"/{2,}")


def has_encoded_slash(raw_path: bytes) -> bool:
    """Return whether a path, as it was sent, has an encoded slash. Its normalized form then has encoded segments."""
    return b"%2f" in raw_path.lower()


def normalize_path(path: str, raw_path: bytes) -> str:
    """Return a decoded path without repeated slashes and without one at the end.

    So the gateway serves `/auth/` and `//auth` as `/auth`. A redirect would lose the body of a POST. If the path was
    sent with an encoded slash, % and / stay encoded in its segments: `decode_segment` decodes one.
    """
    if has_encoded_slash(raw_path):
        path = "/".join(_encode_segment(unquote(segment)) for segment in raw_path.decode("latin-1").split("/"))
    return _SLASHES.sub("/", path).rstrip("/") or "/"


def decode_segment(segment: str) -> str:
    """Return the text of a segment in which % and / are encoded."""
    return segment.replace("%2F", "/").replace("%25", "%")


def _encode_segment(text: str) -> str:
    return text.replace("%", "%25").replace("/", "%2F")
