"""Notifications of events: webhooks for programs, alarms for people.

`announce` writes an event for each webhook that it concerns, within the transaction of the event; the
periodic work sends waiting ones (`delivering`). Nobody can make this server connect to a private network:
`receivers` rejects all addresses that are not public, at every attempt.
"""
