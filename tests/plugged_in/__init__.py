"""A package of task types that is no part of the product: `tests/tasktypes/test_plug_in.py` plugs it in."""
