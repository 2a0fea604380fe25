"""Services that write evaluation's rows. Each writes everything or nothing, and one flag publishes the
result."""
