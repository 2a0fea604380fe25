"""Measure whether a worker's browser can distinguish control items from others.

`python -m tests.apart` runs watchers, who view every address that they may open, at several times, and stores
everything that they receive. A learner then predicts which items were control items. The truth comes from the
database; the learner only gets what was transferred.

campaigns   campaigns with control items, and their workers
watcher     a browser, and a program, that work and store what they receive
polls       every address, when it is viewed, and its response as numbers
features    the responses as numbers
learner     boosted stumps, and the area under their curve on items of images outside their training data
"""
