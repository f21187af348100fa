"""Entity tags of responses (RFC 9110, section 8.8.3), with which a client asks whether its copy has changed."""

import hashlib

TAG_CHARACTERS = 32
"""Characters of a tag. 128 bits make it impossible to find a second content with the tag of a first one."""


def entity_tag(content: bytes) -> str:
    """Return the strong entity tag of a content."""
    return f'"{hashlib.sha256(content).hexdigest()[:TAG_CHARACTERS]}"'


def has_tag(if_none_match: str, tag: str) -> bool:
    """Return whether a header If-None-Match names an entity tag. The comparison is weak (RFC 9110, section 13.1.2)."""
    tags = {named.strip().removeprefix("W/") for named in if_none_match.split(",")}
    return "*" in tags or tag.removeprefix("W/") in tags
