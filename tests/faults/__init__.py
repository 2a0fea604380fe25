"""Mutation testing: faults are put into the code one at a time, to check that tests find them (`make
test-faults`).

`operators` defines faults, `draw` selects some by a seed, `nearest` finds the tests that run the changed
line, and `__main__` tries each fault in a copy of the working tree.
"""
