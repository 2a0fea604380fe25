"""The pages of what systems are trained on: feature sets, word vectors, parses, weak collections."""
