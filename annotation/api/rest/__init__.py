"""What all operations of the REST API share, of every app: who calls, what is taken, how it is answered.

An operation is a function with an `Operation` that says all about it; `operations.patterns` makes
addresses of them, and drf-spectacular the OpenAPI document. docs/api.md explains the API to its users.
"""
