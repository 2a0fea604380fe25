"""A system that localizes phrases, and its commands and calls, for tests."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from django.test import Client

from annotation.models import Account, Layer
from annotation.workers.api_tokens import make_api_token
from evaluation.services.features.importing import FeatureImport, import_features
from evaluation.services.features.store import feature_set
from tests.evaluation.database.conftest import output_of
from tests.evaluation.systems.scenes import BOXES, THINGS


def give_words(folder: Path, without: tuple[str, ...] = ()) -> None:
    words = [word for word in (*THINGS, "small", "near", "unseen") if word not in without]
    vectors = np.random.default_rng(3).standard_normal((len(words), 8)).astype(np.float32)
    np.savez(folder / "words.npz", vectors=vectors, ids=np.array(words))
    import_features(FeatureImport(corpus="scenes", name="words", path=folder / "words.npz", kind="word"))


def some_regions(folder: Path, name: str, has_region: Callable[[int, int], bool]) -> str:
    """Store a subset of the regions of `parts` as a set of this name.

    `has_region` takes the number of their image and their number in it.
    """
    parts = feature_set("scenes", "parts")
    rows = [
        row
        for row, image in enumerate(parts.ids())
        if has_region(int(image.removesuffix(".png")), row % len(BOXES))
    ]
    np.savez(
        folder / f"{name}.npz",
        vectors=np.array(parts.vectors())[rows],
        ids=np.array(parts.ids())[rows],
        boxes=np.array(parts.boxes())[rows],
    )
    output_of("import_features", "scenes", folder / f"{name}.npz", "--name", name, "--kind", "region")
    return name


def train(name: str, *options: Any, recipe: str = "Region-phrase-CCA") -> None:
    output_of(
        *("train_system", name, "--recipe", recipe, "--corpus", "scenes", "--regions", "parts"),
        *("--words", "words", "--layer", layer_name(), *options),
    )


def layer_name() -> str:
    return Layer.objects.get().name


def localized(system: str, *options: Any) -> dict[str, Any]:
    payload: dict[str, Any] = json.loads(output_of("localize", system, "--split", "test", *options, "--json"))
    return payload


def scored(name: str, *options: Any) -> dict[str, Any]:
    payload = json.loads(
        output_of("score_localization", name, "--resamples", 50, "--no-store", *options, "--json")
    )
    report: dict[str, Any] = payload["report"]
    return report


def values(report: dict[str, Any]) -> dict[str, float]:
    return {measure["measure"]: measure["value"] for measure in report["measures"]}


def api_client(who: str) -> Client:
    """Return an API client of this account."""
    account = Account.objects.get(username=who)
    _, secret = make_api_token(account=account, name="test", days=1, writes=True)
    return Client(headers={"Authorization": f"Bearer {secret}"})


def by_api(who: str, path: str) -> Any:
    """Return the API's response to this account."""
    return api_client(who).get(f"/api/v1/{path}").json()
