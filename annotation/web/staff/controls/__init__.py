"""Pages about control items: the list of a campaign, and one of them."""
