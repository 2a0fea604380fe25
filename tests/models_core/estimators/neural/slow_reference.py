"""A second implementation of the alignment, one word and one pair at a time, without torch."""

import numpy as np


def relu(values):
    return np.maximum(0, values)


def region(weights, numbers):
    """Eq. 1."""
    return weights["regions.weight"] @ numbers + weights["regions.bias"]


def edges(weights, numbers):
    """Return a row for each edge, by the matrix of its relation."""
    return [
        relu(
            weights["edge_weights"][relation]
            @ np.concatenate([weights["words"][word], weights["words"][head]])
            + weights["edge_biases"][relation]
        )
        for relation, head, word in numbers
    ]


def sentence(weights, numbers):
    """Eq. 2 to 6: a row for each word."""
    if "edge_weights" in weights:
        return edges(weights, numbers)
    entered = [relu(weights["entry.weight"] @ weights["words"][n] + weights["entry.bias"]) for n in numbers]
    zero = np.zeros(len(weights["regions.bias"]))

    def run(layer, order):
        state, states = zero, {}
        for index in order:
            state = relu(entered[index] + weights[f"{layer}.weight"] @ state + weights[f"{layer}.bias"])
            states[index] = state
        return states

    right = run("rightwards", range(len(numbers)))
    left = run("leftwards", reversed(range(len(numbers))))
    return [
        relu(weights["output.weight"] @ (right[t] + left[t]) + weights["output.bias"])
        for t in range(len(numbers))
    ]


def score(regions, words, objective):
    """Eq. 8, or eq. 7."""
    if objective == "best-region":
        return sum(max(float(v @ s) for v in regions) for s in words)
    return sum(max(0.0, float(v @ s)) for s in words for v in regions)


def ranking_loss(scores, image_of):
    """Eq. 9, positive terms only."""
    total = 0.0
    for k in range(len(image_of)):
        for index in range(len(image_of)):
            if image_of[index] != image_of[k]:
                total += max(0.0, scores[k][index] - scores[k][k] + 1)
                total += max(0.0, scores[index][k] - scores[k][k] + 1)
    return total


def multiple_instance_loss(regions, words, image_of):
    """The additional term of eq. 7: `regions` and `words` are embedded, a list for each pair."""
    losses: dict[bool, list[float]] = {True: [], False: []}
    for k, own_region in enumerate(regions):
        for pair, word in enumerate(words):
            for s in word:
                products = [float(v @ s) for v in own_region]
                for index, product in enumerate(products):
                    right = image_of[pair] == image_of[k] and (
                        product > 0 or (max(products) <= 0 and index == int(np.argmax(products)))
                    )
                    losses[right].append(max(0.0, 1 - (1 if right else -1) * product))
    return len(image_of) * sum(float(np.mean(loss)) for loss in losses.values() if loss)


def caption_log_probabilities(weights, image, words, *, rectified):
    """Eq. 13 to 15, a word at a time: the logarithms of the probabilities of the words, and of END."""

    def maybe(values):
        return np.maximum(values, 0) if rectified else values

    seen = (image - weights["centre"]) / weights["scale"]
    context = maybe(weights["image.weight"] @ seen)
    state = np.zeros(len(context))
    result = []
    end = len(weights["words"])
    entered = weights["start"]
    for index, word in enumerate([*words, end]):
        state = (
            maybe(weights["entry.weight"] @ entered)
            + weights["recurrent.weight"] @ state
            + weights["recurrent.bias"]
            + (context if index == 0 else 0)
        )
        state = np.maximum(state, 0)
        message = weights["output.weight"] @ state + weights["output.bias"]
        shifted = np.exp(message - message.max())
        result.append(float(np.log(shifted[word] / shifted.sum())))
        if word != end:
            entered = weights["words"][word]
    return result
