"""The writers of evaluation's rows: all of what they are given or nothing, published by one flag."""
