"""Release bundles: a campaign's questions, answers and results, with a script that checks them."""
