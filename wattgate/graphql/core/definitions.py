"""The place of Strawberry's definitions in a schema of graphql-core."""

STRAWBERRY_DEFINITION = "strawberry-definition"
"""The extension in which Strawberry stores its own definition of a type or a field."""
