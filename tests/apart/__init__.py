"""Whether somebody at a browser can tell control items from others.

`python -m tests.apart` lets watchers work, who look at every address that they may open, in between and
later. It keeps everything that they see, and asks a learner which items were known ones. Known is what the
database says; the learner sees only what went over the wire.

campaigns   campaigns with control items, and their workers
watcher     a browser, and a program, that work and keep what they saw
polls       every address, when it is looked at, and what it said as numbers
features    what was seen, as numbers
learner     boosted stumps, and the area under their curve on items of images they did not learn from
"""
