"""What is asked for about workers: what they are due and were paid, their table, erasing them, studies."""
