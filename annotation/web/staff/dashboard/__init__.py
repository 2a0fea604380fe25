"""The part of a campaign's page that keeps itself up to date: what needs attention, figures, charts."""
