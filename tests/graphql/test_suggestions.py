"""Suggestions of similar names in the errors of invalid documents, whose search takes more time than all other work."""

import pytest

from wattgate.graphql.execution.documents.document_limits import DocumentLimits
from wattgate.graphql.execution.documents.documents import DocumentCache, InvalidRequest
from wattgate.graphql.execution.schema import build_schema
from wattgate.operations.catalogue import OPERATIONS


def test_only_the_first_invalid_name_gets_suggestions() -> None:
    documents = DocumentCache(build_schema(OPERATIONS), DocumentLimits())
    types = " ".join(f"...on FlexibilityParticipation{number}0 {{ x }}" for number in range(5))
    fields = "viewer { userIdd userIdd nam }"
    long_name = f"... on {'FlexibilityParticipation' * 2} {{ x }}"
    for text, suggestions in ((f"{{ {types} }}", 1), (f"{{ {fields} }}", 1), (f"{{ {types} {long_name} }}", 0)):
        with pytest.raises(InvalidRequest) as refused:
            documents.get(text, None)
        messages = [error.message for error in refused.value.errors]
        assert len(messages) > 1
        assert ["Did you mean" in message for message in messages].count(True) == suggestions
