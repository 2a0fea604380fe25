"""What a campaign has before anybody works: its plan, its texts and invitations, its control items."""
