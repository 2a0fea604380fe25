"""Drafts of campaigns: what somebody types into the steps of opening one, kept until it opens.

fields, reading     which fields there are, and what they say
keeping             begun, saved, imported, duplicated, thrown away
posing, marks       questions about images of the corpus, and control items answered by hand
answer_times, estimate  how long answers take, and what the campaign will
readiness, opening  whether it can be opened; the campaign, and what a pilot left out
"""
