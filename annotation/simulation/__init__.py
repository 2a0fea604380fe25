"""The other driver of the protocol: a crowd of error models answering from gold."""
