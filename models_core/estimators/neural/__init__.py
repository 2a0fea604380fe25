"""Neural networks, trained with torch, which is imported when one is trained or ranks, and not before."""
