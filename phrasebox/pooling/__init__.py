"""Pooled evaluation: which pairs people judge, what that costs, and what it misses.

pools       the union of the best items of chosen runs, in both directions
unlikely    the filter of pairs that are hardly ever relevant (BLEU_pre), and its loss
pricing     pairs, pages, judgments, time and money, before the launch
omissions   a run without its contributions; the unjudged pairs of a new run
active      which pair to judge next, and when the order of the systems is stable

Images and captions are numbers from 0 here. Source: Hodosh et al. 2013, section 4.3.2.
"""
