"""What the campaign page and `campaign_status` read of a campaign.

`overview` puts together what is asked for most. Counts of images and tasks are kept for a minute where they
are slow (`kept`); sums over answers are kept and added to (`sums`); all else is read from few rows.
"""
