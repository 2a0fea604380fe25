"""Figures of a campaign for its page and for `campaign_status`.

`overview` collects the most requested ones. Slow counts of images and tasks are cached for a minute
(`cached`); sums over answers are stored and updated (`sums`); everything else is read from few rows.
"""
