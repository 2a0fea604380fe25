"""Calls the REST API of a Phrasebox server. It needs nothing but Python.

client = Client("http://127.0.0.1:8000", token)
for campaign in client.rows("campaigns"):
    print(campaign["name"], client.get(f"campaigns/{campaign['name']}")["progress"])
"""

from phrasebox_client.client import Client, JobFailed, Problem
from phrasebox_client.webhooks import NotSigned, verified_webhook

__all__ = ["Client", "JobFailed", "NotSigned", "Problem", "verified_webhook"]
