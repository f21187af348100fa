"""OpenAPI document of the REST interface, made from the catalogue of operations and from the types of both interfaces.

`document` puts it together. The other modules make its parts: schemas, parameters, bodies, responses, error responses,
tags, and the GraphQL document of each operation.
"""
