"""How far those who judged agree: coefficients with intervals, thresholds, answers made one.

`estimates` (a figure, or the reason why there is none; intervals clustered by image), `shares`
(intervals of shares of hits), `coefficients` (Cohen, Fleiss, Krippendorff), `thresholds` (binarised
scores, precision and recall), `votes` (who answered what), `aggregation` (majority, mean, Dawid and
Skene, confusion), `summary` (all of it for a file of judgments).
"""
