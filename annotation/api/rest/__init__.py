"""What all operations of the REST API share, of every app: who calls, what is taken, how it is answered.

`endpoints` gives every declared operation its address, `access` lets callers in, `views` answers, and
`openapi` describes them. docs/api.md explains the API to its users.
"""
