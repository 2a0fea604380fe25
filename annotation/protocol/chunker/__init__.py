"""From words to noun phrase chunks: tags, rules that mend them, a grammar, and the word lists they use."""
