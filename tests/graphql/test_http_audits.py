"""The audits of the npm package graphql-http, which are the GraphQL-over-HTTP specification as tests."""

import json
from subprocess import PIPE

from tests.support.node import Node

AUDITS = 61


async def test_every_audit_of_graphql_over_http_passes(demo_url: str, node_scripts: Node) -> None:
    """Run in development mode, because some audits use variables in introspection, which production rejects."""
    process = await node_scripts.start("audit.mjs", f"{demo_url}/graphql", stdout=PIPE, stderr=PIPE)
    out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    audits = json.loads(out)
    assert len(audits) == AUDITS
    assert [audit for audit in audits if audit["status"] != "ok"] == []
