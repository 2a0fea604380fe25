"""The content of corpora, for people and programs: images, answers, tables, figures."""
