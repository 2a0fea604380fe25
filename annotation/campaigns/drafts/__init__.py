"""Drafts of campaigns: the input of the steps that open one, stored until it opens.

fields, reading         the fields, and their values
keeping                 create, save, import, duplicate, delete
posing, marks           questions about images of the corpus, and control items answered by hand
answer_times, estimate  how long answers take, and the whole campaign
readiness, opening      whether it can be opened; opening it, and the images after a pilot
"""
