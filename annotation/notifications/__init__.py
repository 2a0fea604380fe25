"""What is told to others as it happens: webhooks to programs, alarms to people.

`announce` writes an event for each webhook that it concerns, within the transaction in which it happens; the
periodic work sends what waits (`delivering`). Whoever runs a server chooses no address that we connect to:
`receivers` refuses all that are not public, at every attempt.
"""
