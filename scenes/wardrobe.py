"""Looks and clothes for every age, season and occasion, and their names in captions."""

from random import Random

from scenes.art import heads
from scenes.art.anatomy import BUILDS
from scenes.art.colours import pick
from scenes.art.figures import BodyLook
from scenes.art.garments import Garment
from scenes.referents import Weighted

#: Nouns by the garment's style, and whether it counts as a pair ("jeans") or one ("a shirt").
NOUNS: dict[str, tuple[Weighted, str]] = {
    "t-shirt": ((("shirt", 4), ("t-shirt", 4)), "one"),
    "shirt": ((("shirt", 6), ("long-sleeved shirt", 1), ("button-down shirt", 0.6)), "one"),
    "sweater": ((("sweater", 5), ("top", 1), ("pullover", 0.5)), "one"),
    "tank top": ((("tank top", 4), ("top", 2)), "one"),
    "jersey": ((("jersey", 4), ("shirt", 2)), "one"),
    "jacket": ((("jacket", 5), ("coat", 1)), "one"),
    "coat": ((("coat", 5), ("jacket", 1), ("winter coat", 1)), "one"),
    "suit": ((("suit", 1),), "one"),
    "vest": ((("vest", 1),), "one"),
    "pants": ((("pants", 5), ("trousers", 1), ("slacks", 0.3)), "pair"),
    "jeans": ((("jeans", 5), ("pants", 1)), "pair"),
    "shorts": ((("shorts", 1),), "pair"),
    "swim trunks": ((("swim trunks", 3), ("shorts", 2), ("trunks", 1)), "pair"),
    "skirt": ((("skirt", 1),), "one"),
    "long skirt": ((("skirt", 3), ("long skirt", 2)), "one"),
    "dress": ((("dress", 6), ("outfit", 0.8)), "one"),
    "sundress": ((("dress", 4), ("sundress", 2)), "one"),
    "wedding dress": ((("wedding dress", 3), ("dress", 2), ("gown", 1)), "one"),
    "swimsuit": ((("swimsuit", 3), ("bathing suit", 2)), "one"),
    "beanie": ((("hat", 4), ("knit hat", 1), ("beanie", 1), ("winter hat", 1)), "one"),
    "cap": ((("cap", 4), ("baseball cap", 2), ("hat", 2)), "one"),
    "sun hat": ((("hat", 4), ("sun hat", 2), ("straw hat", 1)), "one"),
    "cowboy hat": ((("cowboy hat", 3), ("hat", 3)), "one"),
    "top hat": ((("top hat", 3), ("hat", 2)), "one"),
    "helmet": ((("helmet", 1),), "one"),
    "party hat": ((("party hat", 3), ("hat", 1)), "one"),
    "chef hat": ((("chef hat", 2), ("hat", 1)), "one"),
    "veil": ((("veil", 1),), "one"),
    "glasses": ((("glasses", 1),), "pair"),
    "sunglasses": ((("sunglasses", 5), ("dark glasses", 1)), "pair"),
    "scarf": ((("scarf", 1),), "one"),
    "backpack": ((("backpack", 5), ("bag", 1)), "one"),
    "shoes": ((("shoes", 1),), "pair"),
    "boots": ((("boots", 1),), "pair"),
    "apron": ((("apron", 1),), "one"),
}

_HAIR_OF = {
    "man": (("short", 5), ("tousled", 3), ("receding", 1), ("curly", 1)),
    "woman": (("long", 4), ("bob", 3), ("ponytail", 3), ("bun", 2), ("curly", 2)),
    "old man": (("receding", 4), ("short", 3)),
    "old woman": (("bun", 3), ("bob", 3), ("curly", 2)),
    "boy": (("tousled", 4), ("short", 4), ("curly", 1)),
    "girl": (("pigtails", 4), ("ponytail", 3), ("long", 3), ("bob", 2), ("curly", 1)),
    "baby": (("wisp", 1),),
}

_HAIR_BY_SKIN = (
    ("blond", "brown", "red", "blond"), ("brown", "blond", "red", "dark"), ("brown", "dark", "black"),
    ("dark", "black", "brown"), ("black", "dark"), ("black", "dark"),
)  # fmt: skip


def weighted(rng: Random, options: Weighted) -> str:
    """One of `options`, by weight."""
    return rng.choices([o for o, _ in options], [w for _, w in options])[0]


def _dyed(rng: Random, harmony: tuple[str, ...], *unlike: str) -> str:
    return pick(rng, harmony, unlike=unlike)


def _top(rng: Random, style: str, colour: str, harmony: tuple[str, ...]) -> Garment:
    chance = rng.random()
    trim = pick(rng, ("white", *harmony), unlike=(colour,))
    if chance < 0.2 and style != "jersey":
        return Garment("top", style, colour, trim=trim, pattern="striped")
    if chance < 0.26 and style != "jersey":
        return Garment("top", style, colour, trim=trim, pattern="dotted")
    return Garment("top", style, colour, trim="white" if style == "jersey" and colour != "white" else "")


def _legs(rng: Random, harmony: tuple[str, ...], styles: tuple[str, ...], unlike: str) -> Garment:
    style = rng.choice(styles)
    if style == "jeans":
        return Garment("bottom", style, rng.choice(("blue", "blue", "black", "gray")))
    colour = pick(
        rng, ("gray", "brown", "tan", "black", "blue", *harmony), unlike=(unlike, "yellow", "white")
    )
    return Garment("bottom", style, colour)


def _frock(rng: Random, style: str, colour: str) -> Garment:
    chance = rng.random()
    if chance < 0.22:
        return Garment("dress", style, colour, trim="white" if colour != "white" else "red", pattern="dotted")
    return Garment("dress", style, colour, trim="white" if chance < 0.5 and colour != "white" else "")


def _daily(rng: Random, kind: str, harmony: tuple[str, ...], unlike: tuple[str, ...]) -> list[Garment]:
    colour = _dyed(rng, harmony, *unlike)
    female = kind in ("woman", "girl", "old woman")
    if female and rng.random() < 0.42:
        style = "sundress" if kind != "old woman" and rng.random() < 0.4 else "dress"
        return [_frock(rng, style, colour)]
    styles: tuple[str, ...] = ("t-shirt", "t-shirt", "shirt", "sweater")
    if kind in ("old man", "old woman"):
        styles = ("shirt", "sweater", "sweater")
    top = _top(rng, rng.choice(styles), colour, harmony)
    if female and rng.random() < 0.4:
        style = "long skirt" if kind == "old woman" else "skirt"
        worn = [top, Garment("bottom", style, pick(rng, harmony, unlike=(colour, *unlike)))]
    else:
        young = kind in ("boy", "girl", "baby")
        worn = [
            top,
            _legs(rng, harmony, ("shorts", "jeans", "pants") if young else ("jeans", "pants"), colour),
        ]
    if rng.random() < 0.2 and top.pattern == "plain" and kind != "baby":
        worn.append(Garment("coat", "jacket", pick(rng, harmony, unlike=(colour, *unlike))))
    return worn


def _winter(rng: Random, kind: str, harmony: tuple[str, ...]) -> list[Garment]:
    colour = _dyed(rng, harmony, "white")
    style = "coat" if kind in ("woman", "girl", "old woman") and rng.random() < 0.6 else "jacket"
    worn = [
        Garment("top", "sweater", "gray"),
        Garment("bottom", "pants", pick(rng, ("gray", "black", "blue", "brown"), unlike=(colour,))),
        Garment("coat", style, colour, trim="white"),
        Garment("shoes", "boots", rng.choice(("brown", "black"))),
    ]
    if rng.random() < 0.8:
        worn.append(Garment("hat", "beanie", _dyed(rng, harmony, "white", colour), trim="white"))
    if rng.random() < 0.5:
        worn.append(Garment("scarf", "scarf", _dyed(rng, harmony, "white", colour), trim="white"))
    return worn


def _beach(rng: Random, kind: str, harmony: tuple[str, ...]) -> list[Garment]:
    colour = _dyed(rng, harmony, "tan", "white", "brown")
    if kind in ("woman", "girl", "old woman"):
        if rng.random() < 0.6:
            return [Garment("dress", "swimsuit", colour, trim="white",
                            pattern=rng.choice(("plain", "dotted", "striped")))]  # fmt: skip
        return [_frock(rng, "sundress", colour)]
    trunks = Garment("bottom", "swim trunks", colour)
    if rng.random() < 0.4 or kind == "old man":
        return [_top(rng, "t-shirt", _dyed(rng, harmony, colour, "tan"), harmony), trunks]
    return [trunks]


def _sport(rng: Random, kind: str, harmony: tuple[str, ...]) -> list[Garment]:
    colour = _dyed(rng, harmony, "green", "brown")
    style = rng.choice(("jersey", "t-shirt", "tank top"))
    return [Garment("top", style, colour, trim="white" if colour != "white" else "red"),
            Garment("bottom", "shorts", pick(rng, ("black", "blue", "white", "gray"),
                unlike=(colour,)))]  # fmt: skip


def _stage(rng: Random, kind: str, harmony: tuple[str, ...]) -> list[Garment]:
    colour = _dyed(rng, harmony, "brown", "black")
    if kind in ("woman", "girl") and rng.random() < 0.6:
        return [_frock(rng, "sundress", colour)]
    if rng.random() < 0.3:
        return [Garment("top", "shirt", "white"), Garment("bottom", "pants", "black"),
                Garment("coat", "vest", colour, trim="black")]  # fmt: skip
    return [
        _top(rng, rng.choice(("t-shirt", "shirt")), colour, harmony),
        _legs(rng, harmony, ("jeans", "pants"), colour),
    ]


def _farm(rng: Random, kind: str, harmony: tuple[str, ...]) -> list[Garment]:
    colour = _dyed(rng, harmony, "green", "tan")
    worn = [
        _top(rng, "shirt", colour, harmony),
        Garment("bottom", "jeans", rng.choice(("blue", "blue", "gray"))),
        Garment("shoes", "boots", "brown"),
    ]
    if rng.random() < 0.6:
        worn.append(
            Garment("hat", rng.choice(("cowboy hat", "sun hat")), rng.choice(("tan", "brown")), trim="red")
        )
    return worn


def _kitchen(rng: Random, kind: str, harmony: tuple[str, ...]) -> list[Garment]:
    colour = _dyed(rng, harmony, "white")
    worn = [
        _top(rng, rng.choice(("shirt", "t-shirt")), colour, harmony),
        _legs(rng, harmony, ("jeans", "pants"), colour),
        Garment("apron", "apron", pick(rng, ("white", *harmony), unlike=(colour,))),
    ]
    if rng.random() < 0.35:
        worn.append(Garment("hat", "chef hat", "white"))
    return worn


def _wedding(rng: Random, kind: str, harmony: tuple[str, ...]) -> list[Garment]:
    if kind in ("woman", "girl", "old woman"):
        return [
            Garment("dress", "wedding dress", "white", trim="tan"),
            Garment("hat", "veil", "white", trim="pink"),
        ]
    return [Garment("top", "shirt", "white"), Garment("bottom", "pants", "black"),
            Garment("coat", "suit", "black", trim=rng.choice(("red", "purple", "blue", "pink")))]  # fmt: skip


_CODES = {
    "winter": _winter, "beach": _beach, "sport": _sport, "stage": _stage, "farm": _farm, "kitchen": _kitchen,
    "wedding": _wedding,
}  # fmt: skip


def dress(
    rng: Random, kind: str, code: str, harmony: tuple[str, ...], unlike: tuple[str, ...]
) -> tuple[Garment, ...]:
    """Return clothes for one person: `code` is the occasion, `unlike` are colours that would vanish in the
    setting."""
    # Tan looks like skin on small figures; it is only used for trousers and hats.
    left = tuple(c for c in harmony if c not in (*unlike, "tan")) or harmony
    worn = _CODES[code](rng, kind, left) if code in _CODES else _daily(rng, kind, left, (*unlike, "tan"))
    slots = {g.slot for g in worn}
    main = next((g.colour for g in worn if g.slot in ("coat", "dress", "top")), "")
    if "shoes" not in slots and code != "beach":
        worn.append(
            Garment("shoes", "shoes", rng.choice(("white", "black", "brown", "red", "gray")), trim="white")
        )
    if "hat" not in slots and code in ("daily", "beach", "helmet"):
        if code == "helmet":
            worn.append(
                Garment(
                    "hat",
                    "helmet",
                    pick(rng, ("red", "blue", "yellow", "white", *left), unlike=(main,)),
                    "black",
                )
            )
        elif rng.random() < (0.3 if code == "daily" else 0.4):
            female = kind in ("woman", "girl", "old woman")
            if female:
                worn.append(
                    Garment("hat", "sun hat", rng.choice(("tan", "white", "yellow")), trim=pick(rng, left))
                )
            elif kind == "old man" and rng.random() < 0.3:
                worn.append(Garment("hat", "top hat", "black", trim=pick(rng, left)))
            else:
                worn.append(Garment("hat", "cap", pick(rng, ("red", "blue", *left), unlike=(main,))))
    if code == "party" and rng.random() < 0.65:
        worn.append(Garment("hat", "party hat", pick(rng, left, unlike=("white", main)), trim="white"))
    if kind != "baby":
        if rng.random() < (0.34 if kind.startswith("old") else 0.13):
            worn.append(Garment("glasses", "glasses", "black"))
        elif code in ("daily", "beach", "winter") and rng.random() < 0.1:
            worn.append(Garment("glasses", "sunglasses", "black"))
    if code == "daily" and kind in ("man", "woman", "boy", "girl") and rng.random() < 0.16:
        worn.append(
            Garment("backpack", "backpack", pick(rng, ("red", "green", "orange", *left), unlike=(main,)))
        )
    return tuple(worn)


def choose_look(
    rng: Random, kind: str, code: str, harmony: tuple[str, ...], unlike: tuple[str, ...]
) -> BodyLook:
    """A person of `kind`, dressed for the occasion."""
    tone = rng.choices(range(6), (4, 4, 3, 2, 2, 2))[0]
    hair = rng.choice(("gray", "white")) if kind.startswith("old") else rng.choice(_HAIR_BY_SKIN[tone])
    garments = dress(rng, kind, code, harmony, unlike)
    style = weighted(rng, _HAIR_OF[kind])
    if any(g.slot == "hat" for g in garments) and style in ("bun", "curly"):
        style = "bob" if kind in ("woman", "old woman", "girl") else "short"
    build = BUILDS[kind]
    if kind in ("man", "woman", "old man", "old woman") and rng.random() < 0.3:
        build = build.stouter(rng.uniform(0.12, 0.36))
    return BodyLook(
        build=build,
        skin=heads.SKINS[tone],
        hair=hair,
        style=style,
        garments=garments,
        beard=kind in ("man", "old man") and rng.random() < 0.3,
        merry=rng.random() < 0.65,
    )
