"""Fitting any method: its inputs are checked first, and the required memory is compared with the available.
An error is one line, a doubt is a remark."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from models_core.estimators.base import (
    CAPTION_NUMBERS,
    FURTHER,
    FURTHER_CAPTION_NUMBERS,
    FURTHER_IMAGE_NUMBERS,
    HELD_OUT,
    IMAGE_NUMBERS,
    TRAINING_CAPTIONS,
    TRAINING_IMAGES,
    WORDS,
    Amounts,
    Dataset,
    FitContext,
    Method,
    WordNumbers,
)
from models_core.estimators.inputs import check_inputs
from models_core.memory import check_memory

_SETTING = "settings."


@dataclass(frozen=True)
class FittedMethod:
    """A fitted method, with `remarks` on the numbers that it was trained on, and `selection`, remarks on
    settings that it chose."""

    model: Any
    remarks: tuple[str, ...]
    selection: tuple[str, ...]


def fit_method(
    method: Method, settings: Any, train: Dataset, validation: Dataset | None, context: FitContext
) -> FittedMethod:
    """Learn from `train`, with settings chosen on `validation`.

    Raises NumbersOutOfRange and NotEnoughMemory, each one line with the remedy, and the method's own errors.
    """
    remarks = [*check_inputs(method, train, "training")]
    if validation is not None:
        remarks += check_inputs(method, validation, "held-out")
    for name, further in context.auxiliary.items():
        if name in method.needs or method.grounding != "none":
            remarks += check_inputs(method, further, name)
    amounts = amounts_of(train, validation, context.auxiliary) | {
        f"{_SETTING}{field.name}": number
        for field in fields(settings)
        if type(number := getattr(settings, field.name)) is int and number > 0
    }
    check_memory(f"learning {method.title!r}", lambda known: _bytes(method, settings, known), amounts)
    model = method.make(settings).fit(train, validation, context)
    return FittedMethod(model, tuple(remarks), getattr(model, "selection_", ()))


def _bytes(method: Method, settings: Any, amounts: Amounts) -> float:
    sizes = {
        name.removeprefix(_SETTING): number for name, number in amounts.items() if name.startswith(_SETTING)
    }
    return method.memory(replace(settings, **sizes), amounts)


def amounts_of(
    train: Dataset, validation: Dataset | None, auxiliary: Mapping[str, Dataset]
) -> dict[str, int]:
    """Return the amounts of training data; of several sets of additional pairs the largest."""
    further = max(auxiliary.values(), key=lambda data: len(data.image_of), default=None)
    words = train.captions.vocabulary if isinstance(train.captions, WordNumbers) else 0
    return {
        TRAINING_IMAGES: train.images.shape[0],
        TRAINING_CAPTIONS: len(train.image_of),
        IMAGE_NUMBERS: _numbers(train.images),
        CAPTION_NUMBERS: _numbers(train.captions),
        HELD_OUT: 0 if validation is None else validation.images.shape[0],
        WORDS: words,
        FURTHER: 0 if further is None else len(further.image_of),
        FURTHER_IMAGE_NUMBERS: 0 if further is None else _numbers(further.images),
        FURTHER_CAPTION_NUMBERS: 0 if further is None else _numbers(further.captions),
    }


def _numbers(view: Any) -> int:
    """Return the row length; for words that of a word's vector, 0 without vectors."""
    if isinstance(view, WordNumbers):
        return 0 if view.vectors is None else view.vectors.shape[1]
    return int(view.shape[1])
