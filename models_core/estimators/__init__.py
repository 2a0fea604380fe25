"""Learning methods: one module or package for each."""
