"""Neural networks, trained with torch, which is imported only for training and ranking."""
