"""The journeys of the walk through the purposes of SPEC.md. pytest shows the values of their assertions."""

import pytest

pytest.register_assert_rewrite(
    *(f"{__name__}.{module}" for module in ("devices", "homes", "kinds", "messages", "people", "resources", "walk"))
)
