"""Types of the requests and responses in legacy formats. They are the source of the OpenAPI document.

Each module has the types of the module with the same name in `formats`. The tests check every response against them.
"""
