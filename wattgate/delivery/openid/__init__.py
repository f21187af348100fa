"""A client of OpenID Connect providers: their keys, the verification of their tokens, and questions about tokens."""
