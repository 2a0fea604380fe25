"""What commands print of the results of operations."""
