"""A soak test: a crowd works for a long time while processes are killed, disks fill up and clocks step
(docs/testing.md)."""
