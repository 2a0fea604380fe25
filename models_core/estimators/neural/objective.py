"""Training objectives: scores of sentences with images, and the losses of a batch of pairs.

`products[k, i, l, t]` is the inner product of region i of image k with word t of sentence l. Then

    S_kl = sum over t of max over i of products[k, i, l, t]                        eq. 8 (best region)
    S_kl = sum over t and i of max(0, products[k, i, l, t])                        eq. 7 (fragments)

    loss = sum over k of [sum over l of max(0, S_kl - S_kk + 1) + max(0, S_lk - S_kk + 1)]    eq. 9

where image k and sentence k belong together. The sums exclude l = k, which would add a constant, and each l
whose sentence belongs to image k too, since it is not wrong.

The multiple-instance term of the fragments is sum over k, i, l, t of w max(0, 1 - y products[k, i, l, t]),
where y is -1 for a sentence of another image. Of a word with the regions of its own image, y is 1 where the
product is positive, or, where none is, for its best region alone; else -1. The weights w let those with y = 1
count as much as those with y = -1: each is the number of pairs divided by how many such products there are in
the batch.

Two other losses of the same scores S, whose sums, maxima and logarithms exclude the same l:

    loss = sum over k of [max over l of max(0, S_kl - S_kk + a) + max over l of max(0, S_lk - S_kk + a)]
    loss = sum over k of [log(sum over l of exp S_kl) + log(sum over l of exp S_lk) - 2 S_kk] / 2

are those of the hardest negatives, with the margin a (1 in eq. 9), and InfoNCE, whose sums over l include k.

Source: Karpathy and Fei-Fei 2015, eq. 7 to 9; the multiple-instance term after Karpathy, Joulin and Fei-Fei
2014, which it cites. Hardest negatives: Faghri et al. 2018, section 3.1. InfoNCE: van den Oord et al. 2018,
in both directions as in Radford et al. 2021, Figure 3. Both are written from memory.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

#: The margin by which a right pair should score above a wrong one.
MARGIN = 1.0


@dataclass(frozen=True, slots=True)
class BatchProducts:
    """Inner products, shape (images, regions, sentences, words), and the masks of regions, shape (images,
    regions), and words, shape (sentences, words)."""

    values: Tensor
    regions: Tensor
    words: Tensor

    @classmethod
    def of(cls, regions: Tensor, region_there: Tensor, words: Tensor, word_there: Tensor) -> BatchProducts:
        """Compute the products of embedded regions, shape (images, regions, h), with words, shape (sentences,
        words, h)."""
        flat = regions.flatten(0, 1) @ words.flatten(0, 1).T
        return cls(
            flat.view(*regions.shape[:2], *words.shape[:2]),
            region_there[:, :, None, None],
            word_there[None, None, :, :],
        )


def best_region_scores(products: BatchProducts) -> Tensor:
    """Return eq. 8, shape (images, sentences); every image needs a region."""
    best = products.values.masked_fill(~products.regions, -torch.inf).amax(dim=1)
    return (best * products.words[:, 0]).sum(dim=2)


def fragment_scores(products: BatchProducts) -> Tensor:
    """Return eq. 7, shape (images, sentences)."""
    there = products.regions & products.words
    return (torch.relu(products.values) * there).sum(dim=(1, 3))


def ranking_loss(scores: Tensor, image_of: Tensor, margin: float = MARGIN) -> Tensor:
    """Return eq. 9 of scores, shape (pairs, pairs); `image_of` is the image of each pair, shape (pairs,)."""
    of_images, of_sentences = _hinges(scores, image_of, margin)
    return (of_images + of_sentences).sum()


def hardest_loss(scores: Tensor, image_of: Tensor, margin: float) -> Tensor:
    """Return the loss of the hardest negatives; arguments as for `ranking_loss`."""
    of_images, of_sentences = _hinges(scores, image_of, margin)
    return of_images.amax(dim=1).sum() + of_sentences.amax(dim=0).sum()


def contrastive_loss(scores: Tensor, image_of: Tensor) -> Tensor:
    """Return InfoNCE of scores divided by the temperature; arguments as for `ranking_loss`."""
    same = image_of[:, None] == image_of[None, :]
    same.fill_diagonal_(False)
    others = scores.masked_fill(same, -torch.inf)
    diagonal = torch.diagonal(scores)
    return (torch.logsumexp(others, dim=1) + torch.logsumexp(others, dim=0) - 2 * diagonal).sum() / 2


def _hinges(scores: Tensor, image_of: Tensor, margin: float) -> tuple[Tensor, Tensor]:
    """Return max(0, S_kl - S_kk + margin) and max(0, S_lk - S_kk + margin) at (k, l) and (l, k), 0 for pairs
    of one image."""
    diagonal = torch.diagonal(scores)
    mismatched = image_of[:, None] != image_of[None, :]
    of_images = torch.relu(scores - diagonal[:, None] + margin) * mismatched
    of_sentences = torch.relu(scores - diagonal[None, :] + margin) * mismatched
    return of_images, of_sentences


def multiple_instance_loss(products: BatchProducts, image_of: Tensor) -> Tensor:
    """Return the multiple-instance term of a batch of pairs; y is computed from these products, without a
    gradient."""
    there = products.regions & products.words
    with torch.no_grad():
        known = products.values.masked_fill(~products.regions, -torch.inf)
        best = known == known.amax(dim=1, keepdim=True)
        same = (image_of[:, None] == image_of[None, :])[:, None, :, None]
        right = same & ((products.values > 0) | best) & there
        negative = there & ~right
        shares = [len(image_of) / max(1, int(chosen.sum())) for chosen in (right, negative)]
    of_right = (torch.relu(1 - products.values) * right).sum()
    of_wrong = (torch.relu(1 + products.values) * negative).sum()
    return shares[0] * of_right + shares[1] * of_wrong
