"""Notifications of events: webhooks for programs, alarms for people.

`announce` writes an event for each webhook that it concerns, within the transaction in which it happens; the
periodic work sends what waits (`delivering`). Nobody can make this server connect to a private network:
`receivers` refuses all addresses that are not public, at every attempt.
"""
