"""The common parts of all operations of the REST API, in every app: authentication, parsing, responses.

`endpoints` gives every declared operation its address, `access` checks callers, `views` responds, and
`openapi` describes them. docs/api.md explains the API to its users.
"""
