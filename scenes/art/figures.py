"""People: their look and clothes, and how these are drawn over a skeleton.

Every piece (each sleeve, the beard, the left forearm) is a separate part, so that the extent of a shirt, of a
person's arms and of the whole person can be read from the same drawing.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import atan2, degrees

from scenes.art import garments, heads
from scenes.art.anatomy import Build, Pose, Skeleton, along, articulate, bend
from scenes.art.canvas import Canvas, Pen, Point
from scenes.art.colours import Colour, darker
from scenes.art.garments import Garment
from scenes.art.trunk import Trunk

Hook = Callable[[Pen], None]


@dataclass(frozen=True, slots=True)
class BodyLook:
    """A person's look, independent of the pose."""

    build: Build
    skin: Colour
    hair: str
    style: str
    garments: tuple[Garment, ...]
    beard: bool = False
    merry: bool = True

    def worn(self, slot: str) -> Garment | None:
        """The first garment worn at a place of the body; None if it is bare."""
        return next((g for g in self.garments if g.slot == slot), None)


@dataclass
class BodyFigure:
    """One posed person at a place in the picture.

    `x`, `y`: the ground between the feet in pixels; `height` in pixels; `flip` faces left;
    `arms_over` brings the far arm in front of the trunk, too.
    `parts` maps piece names ("body", "near sleeve", "hat", ...) to part numbers.
    The hooks draw what is carried, with the figure's own pen (unit: its height): `behind` before
    the body, `between` after the trunk and before the near arm, `over` last.
    """

    look: BodyLook
    pose: Pose
    x: float
    y: float
    height: float
    flip: bool = False
    arms_over: bool = False
    parts: dict[str, int] = field(default_factory=dict)
    behind: list[Hook] = field(default_factory=list)
    between: list[Hook] = field(default_factory=list)
    over: list[Hook] = field(default_factory=list)

    def __post_init__(self) -> None:
        bones: Skeleton = articulate(self.look.build, self.pose)
        self.hip, self.neck, self.head = bones.hip, bones.neck, bones.head
        self.limbs = {
            "near arm": bones.near_arm,
            "far arm": bones.far_arm,
            "near leg": bones.near_leg,
            "far leg": bones.far_leg,
        }

    def inside(self, point: Point) -> Point:
        """A point of the picture in the figure's own coordinates."""
        across = (point[0] - self.x) / self.height
        return (-across if self.flip else across, (point[1] - self.y) / self.height)

    def outside(self, point: Point) -> Point:
        """A point in the figure's own coordinates as a point of the picture."""
        across = -point[0] if self.flip else point[0]
        return (self.x + across * self.height, self.y + point[1] * self.height)

    def hips_at(self, point: Point) -> None:
        """Move the whole figure so that the hip comes to lie at the picture's `point`."""
        across = -self.hip[0] if self.flip else self.hip[0]
        self.x, self.y = point[0] - across * self.height, point[1] - self.hip[1] * self.height

    def end(self, limb: str) -> Point:
        """Where the hand or the ankle of `limb` is in the picture."""
        return self.outside(self.limbs[limb][2])

    def reach(self, limb: str, target: Point, *, outward: float = -1) -> None:
        """Bend `limb` until its end is at, or as near as can be to, the picture's point `target`."""
        build = self.look.build
        upper, lower = (
            (build.arm, build.arm * 0.94) if limb.endswith("arm") else (build.leg / 2, build.leg / 2)
        )
        start = self.limbs[limb][0]
        first, second = bend(start, self.inside(target), upper, lower, outward=outward)
        middle = along(start, upper, first)
        self.limbs[limb] = (start, middle, along(middle, lower, second))

    def draw(self, canvas: Canvas) -> None:
        """Paint the person and, by the hooks, what they carry."""
        pen = canvas.pen().at(self.x, self.y, scale=self.height, flip=self.flip)
        look, pose = self.look, self.pose
        for hook in self.behind:
            hook(pen)
        head = pen.at(*self.head, scale=look.build.head * 0.5, angle=pose.lean * 0.3)
        hair = head.of(self.parts.get("hair", 0))
        colour = heads.HAIRS[look.hair]
        behind, before = heads.STYLES[look.style]
        trunk = Trunk(pen.at(*self.hip, angle=pose.lean), look.build, pose.view)
        for garment in look.garments:
            if garment.slot == "backpack":
                garments.backpack(trunk, garment, self._piece("backpack"))
        behind(hair, colour)
        if not self.arms_over:
            self._arm(pen, "far", 0.10)
        self._leg(pen, "far", 0.13)
        self._leg(pen, "near", 0.0)
        self._dress(pen, trunk)
        pen.of(self._piece("body")).limb(
            self.neck, self.head, look.build.head * 0.22, look.build.head * 0.2, darker(look.skin, 0.14)
        )
        self._collars(trunk)
        heads.face(head.of(self._piece("body")), look.skin, view=pose.view, merry=look.merry)
        if look.beard:
            heads.beard(head.of(self._piece("beard")), colour, view=pose.view)
        before(hair, colour)
        self._headwear(head)
        for hook in self.between:
            hook(pen)
        if self.arms_over:
            self._arm(pen, "far", 0.05)
        self._arm(pen, "near", 0.0)
        for hook in self.over:
            hook(pen)

    def _piece(self, name: str) -> int:
        return self.parts.get(name, 0)

    def _dress(self, pen: Pen, trunk: Trunk) -> None:
        look = self.look
        trunk.band(self._piece("body"), look.skin, low=-0.1, high=1.0)
        legs = (self.limbs["near leg"], self.limbs["far leg"])
        for slot in ("bottom", "top", "dress", "coat", "apron"):
            garment = look.worn(slot)
            if garment:
                garments.DRAWN_GARMENTS[slot](
                    trunk, garment, self._piece(slot), pen, legs, self.pose.hip is not None
                )

    def _collars(self, trunk: Trunk) -> None:
        outer = self.look.worn("coat") or self.look.worn("top") or self.look.worn("dress")
        if outer:
            garments.collar(trunk, outer, self._piece(outer.slot), self.look.skin, self._piece("body"))
        scarf = self.look.worn("scarf")
        if scarf:
            garments.scarf(trunk, scarf, self._piece("scarf"))

    def _headwear(self, head: Pen) -> None:
        worn = self.look.worn("glasses")
        if worn:
            heads.glasses(
                head.of(self._piece("glasses")), view=self.pose.view, dark=worn.style == "sunglasses"
            )
        hat = self.look.worn("hat")
        if hat:
            heads.HATS[hat.style](head.of(self._piece("hat")), hat.paint, hat.second)

    def _leg(self, pen: Pen, side: str, shade: float) -> None:
        look = self.look
        hip, knee, ankle = self.limbs[f"{side} leg"]
        thick = look.build.limb
        skin = darker(look.skin, shade)
        body = pen.of(self._piece("body"))
        body.limb(hip, knee, 0.044 * thick, 0.032 * thick, skin)
        body.limb(knee, ankle, 0.032 * thick, 0.022 * thick, skin)
        self._foot(pen, side, knee, ankle, shade)
        bottom = look.worn("bottom")
        if bottom:
            garments.trouser(pen.of(self._piece("bottom")), bottom, hip, knee, ankle, thick, shade)

    def _foot(self, pen: Pen, side: str, knee: Point, ankle: Point, shade: float) -> None:
        look = self.look
        shoes = look.worn("shoes")
        thick = look.build.limb
        shin = degrees(atan2(ankle[0] - knee[0], ankle[1] - knee[1]))
        front = self.pose.view > 0.8
        angle = 0.0 if abs(shin) < 12 else -shin * 0.75
        foot = pen.at(*ankle, scale=thick, angle=angle, flip=front and side == "near")
        reach = 0.052 if front else 0.072
        paint = darker(shoes.paint if shoes else look.skin, shade)
        foot = foot.of(self._piece("shoes") if shoes else self._piece("body"))
        if shoes and shoes.style == "boots":
            top = (ankle[0] + (knee[0] - ankle[0]) * 0.34, ankle[1] + (knee[1] - ankle[1]) * 0.34)
            pen.of(self._piece("shoes")).limb(top, ankle, 0.034 * thick, 0.031 * thick, paint)
        foot.blob(
            [(-0.028, -0.012), (-0.006, -0.03), (0.024, -0.014), (reach - 0.008, 0.010), (reach, 0.026),
             (reach - 0.01, 0.034), (-0.022, 0.034), (-0.032, 0.02)],
            paint,
        )  # fmt: skip
        if shoes:
            foot.fill(
                [(-0.028, 0.026), (reach - 0.002, 0.026), (reach - 0.008, 0.036), (-0.026, 0.036)],
                shoes.second,
            )

    def _arm(self, pen: Pen, side: str, shade: float) -> None:
        look = self.look
        shoulder, elbow, hand = self.limbs[f"{side} arm"]
        thick = look.build.limb * (0.9 if look.build.head < 0.2 else 0.82)
        skin = darker(look.skin, shade)
        arm = pen.of(self._piece(f"{side} arm"))
        arm.limb(shoulder, elbow, 0.031 * thick, 0.026 * thick, skin)
        arm.limb(elbow, hand, 0.026 * thick, 0.020 * thick, skin)
        tip = (hand[0] + (hand[0] - elbow[0]) * 0.09, hand[1] + (hand[1] - elbow[1]) * 0.09)
        arm.limb(hand, tip, 0.026 * thick, 0.029 * thick, skin)
        for slot in ("top", "dress", "coat"):
            garment = look.worn(slot)
            if garment:
                piece = f"{side} sleeve" if slot == "top" else f"{side} {slot} sleeve"
                garments.sleeve(pen.of(self._piece(piece)), garment, shoulder, elbow, hand, thick, shade)
