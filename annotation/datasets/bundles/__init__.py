"""Release bundles: all that a campaign asked, was answered and made of it, with a script that checks it."""
