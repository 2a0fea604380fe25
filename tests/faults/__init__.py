"""Faults put into the code one at a time, to see whether the tests find them: `make test-faults`.

`operators` knows what a fault may look like, `draw` chooses some by a seed, `nearest` knows which tests
run the changed line, and `__main__` tries each fault in a copy of the working tree.
"""
