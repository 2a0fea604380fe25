"""Pooled evaluation: which pairs people are asked about, what that costs, and what it hides.

pools       the union of the best of chosen runs, in both directions
unlikely    the filter of pairs that hardly can be relevant (BLEU_pre), and what it loses
pricing     pairs, pages, judgments, time and money, before anything is asked
omissions   a run without its contributions; what nobody judged of a new run
active      which pair to ask next, and when the order of the systems is known

Images and captions are numbers from 0 here. Source: Hodosh et al. 2013, section 4.3.2.
"""
