"""Release bundles, and the script that checks them."""
