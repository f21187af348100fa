"""Types of the requests and responses in legacy formats. They are the source of the OpenAPI document.

Each module has the types of the module with the same name in `formats`, each type with its example. The tests check
every response and every example against them.
"""
