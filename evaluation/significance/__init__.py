"""Whether one system is better than another, or only looked so on these queries.

`mcnemar` (found or not: R@k, S@k), `randomisation` (means and median ranks), `resampling`
(intervals of figures and of differences, whole images drawn), `tables` (rank correlations, Holm, marks).
"""
