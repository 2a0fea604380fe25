"""The palette, computed: contrast in both schemes, and distinct chains for colour-blind users.

Contrast is WCAG 2.2's ratio of relative luminances. Colour blindness is simulated with the matrices of
Machado, Oliveira and Fernandes (2009) at full severity, on linear RGB; the difference of two colours is the
distance in Oklab, times a hundred.
"""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from annotation.web.common.overlay import HUES

TOKENS = Path(__file__).resolve().parents[2] / "static" / "annotation" / "tokens.css"
SCHEMES = ("light", "dark")
NORMAL_TEXT, LARGE_OR_SHAPE = 4.5, 3.0

EYES = {
    "full": np.eye(3),
    "protan": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deutan": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritan": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
TO_LMS = [
    [0.4122214708, 0.5363325363, 0.0514459929],
    [0.2119034982, 0.6806995451, 0.1073969566],
    [0.0883024619, 0.2817188376, 0.6299787005],
]
TO_LAB = [
    [0.2104542553, 0.7936177850, -0.0040720468],
    [1.9779984951, -2.4285922050, 0.4505937099],
    [0.0259040371, 0.7827717662, -0.8086757660],
]


def tokens(scheme: str) -> dict[str, str]:
    """Return the custom properties of a browser in `scheme`."""
    text = TOKENS.read_text()
    light, dark = text.split("@media (prefers-color-scheme: dark)")
    dark = dark.split("@media")[0]
    result = dict(re.findall(r"--([\w-]+):\s*([^;]+);", light))
    return result | (dict(re.findall(r"--([\w-]+):\s*([^;]+);", dark)) if scheme == "dark" else {})


def rgb(colour: str) -> np.ndarray:
    """Return `#rrggbb` as three shares."""
    assert re.fullmatch(r"#[0-9a-f]{6}", colour), colour
    return np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255


def linear(colour: np.ndarray) -> np.ndarray:
    return np.where(colour <= 0.04045, colour / 12.92, ((colour + 0.055) / 1.055) ** 2.4)


def contrast(first: np.ndarray, second: np.ndarray) -> float:
    lights = sorted(float(linear(c) @ (0.2126, 0.7152, 0.0722)) for c in (first, second))
    return (lights[1] + 0.05) / (lights[0] + 0.05)


def seen(colour: np.ndarray, eye: str) -> np.ndarray:
    """Return Oklab coordinates of `colour` as seen by `eye`."""
    light = np.clip(np.array(EYES[eye]) @ linear(colour), 0, 1)
    return np.array(TO_LAB) @ np.cbrt(np.array(TO_LMS) @ light)


def tint(held: dict[str, str], hue: int) -> np.ndarray:
    """Return `color-mix(in srgb, chain tint, page)`: the background of a mention."""
    share = float(held["tint"].rstrip("%")) / 100
    return share * rgb(held[f"chain-{hue}"]) + (1 - share) * rgb(held["page"])


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize(
    ("text", "ground"),
    [(text, ground) for text in ("ink", "soft", "accent", "accent-strong") for ground in ("page", "raised")]
    + [("ink", "sunken"), ("soft", "sunken"), ("wrong", "page"), ("open", "page")]
    + [("on-accent", "accent"), ("on-accent", "accent-strong")],
)
def test_text_can_be_read(scheme: str, text: str, ground: str):
    held = tokens(scheme)
    assert contrast(rgb(held[text]), rgb(held[ground])) >= NORMAL_TEXT


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("hue", range(1, HUES + 1))
def test_a_chains_words_can_be_read_on_its_colour_and_on_its_tint(scheme: str, hue: int):
    held = tokens(scheme)
    assert contrast(rgb(held[f"on-chain-{hue}"]), rgb(held[f"chain-{hue}"])) >= NORMAL_TEXT
    for text in ("ink", "soft"):
        assert contrast(rgb(held[text]), tint(held, hue)) >= NORMAL_TEXT


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("ground", ["page", "raised"])
def test_edges_of_controls_and_the_focus_ring_can_be_seen(scheme: str, ground: str):
    held = tokens(scheme)
    for edge in ("edge", "accent"):
        assert contrast(rgb(held[edge]), rgb(held[ground])) >= LARGE_OR_SHAPE


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("eye", EYES)
def test_chains_are_apart_for_every_eye(scheme: str, eye: str):
    held = tokens(scheme)
    colours = {hue: seen(rgb(held[f"chain-{hue}"]), eye) for hue in range(1, HUES + 1)}
    apart = {
        pair: 100 * np.linalg.norm(colours[pair[0]] - colours[pair[1]]) for pair in combinations(colours, 2)
    }
    closest = min(apart, key=lambda pair: apart[pair])
    assert apart[closest] >= 7.5, f"chains {closest} are {apart[closest]:.1f} apart"


def test_every_hue_has_its_rule():
    text = TOKENS.read_text()
    for hue in range(1, HUES + 1):
        assert f".hue-{hue} {{ --chain: var(--chain-{hue}); --on-chain: var(--on-chain-{hue}); }}" in text
    assert f".hue-{HUES + 1} " not in text


def test_only_the_tokens_know_a_colour():
    for sheet in TOKENS.parent.glob("*.css"):
        if sheet != TOKENS:
            bare = re.findall(
                r"#[0-9a-fA-F]{3,8}\b(?![\w-])", re.sub(r"/\*.*?\*/", "", sheet.read_text(), flags=re.S)
            )
            assert [c for c in bare if c not in ("#000", "#boxes")] == [], sheet.name
