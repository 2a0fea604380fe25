"""Whether somebody at a browser can tell control items from others.

`python -m tests.apart` lets watchers work through the API, keeps everything that they see, and asks a
learner which items were known ones. Known is what the database says; the learner sees only what went over the
wire.

campaigns   three campaigns with control items, and their workers
watcher     a browser that works and keeps what it saw
features    what was seen, as numbers
learner     boosted stumps, and the area under their curve on items of images they did not learn from
"""
