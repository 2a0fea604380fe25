"""A soak: a crowd works for long while processes are killed, disks fill and clocks step (docs/testing.md)."""
