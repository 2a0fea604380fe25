"""What corpora hold, for people and programs: images, answers, tables, figures."""
