"""The pages of training data: feature sets, word vectors, parses, weak collections."""
