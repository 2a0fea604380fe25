"""The model that cuts captions is loaded once: each training would load it again, which takes longer."""

from __future__ import annotations

import functools

import pytest
from HanTa.HanoverTagger import HanoverTagger

_tagger = functools.cache(HanoverTagger)


@pytest.fixture(autouse=True)
def one_tagger(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("models_core.features.text.lemmas.HanoverTagger", _tagger)
