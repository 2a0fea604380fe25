"""The geometry of bodies: proportions by age and build, poses, and the positions of joints.

Lengths are shares of the figure's own height, x to the side it faces, y downwards, the origin on the ground
between the feet. Angles are in degrees from straight down, positive towards the front.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import acos, atan2, cos, degrees, hypot, radians, sin

from scenes.art.canvas import Point


@dataclass(frozen=True, slots=True)
class Build:
    """The proportions of a body. Widths are half widths."""

    head: float
    torso: float
    leg: float
    shoulder: float
    chest: float
    waist: float
    hip: float
    limb: float

    @property
    def arm(self) -> float:
        """Length of the upper arm; the forearm is a little shorter."""
        return self.torso * 0.52

    def stouter(self, share: float) -> Build:
        """Return the same body, `share` heavier around the middle."""
        return replace(
            self,
            chest=self.chest * (1 + share * 0.6),
            waist=self.waist * (1 + share * 1.5),
            hip=self.hip * (1 + share),
            limb=self.limb * (1 + share * 0.7),
        )


BUILDS: dict[str, Build] = {
    "man": Build(0.178, 0.295, 0.478, 0.100, 0.092, 0.076, 0.076, 1.04),
    "woman": Build(0.184, 0.280, 0.486, 0.082, 0.075, 0.058, 0.081, 0.92),
    "old man": Build(0.184, 0.300, 0.466, 0.094, 0.092, 0.088, 0.082, 1.0),
    "old woman": Build(0.190, 0.290, 0.466, 0.082, 0.082, 0.078, 0.088, 0.95),
    "boy": Build(0.245, 0.280, 0.422, 0.090, 0.082, 0.074, 0.074, 1.08),
    "girl": Build(0.245, 0.275, 0.428, 0.082, 0.074, 0.064, 0.078, 1.0),
    "baby": Build(0.330, 0.305, 0.310, 0.096, 0.098, 0.106, 0.106, 1.36),
}

Angles = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Pose:
    """How the joints are bent: (upper, lower) for each arm and leg.

    `view` is 1 for facing us, 0 for a profile. `hip` is the height of the hip over the ground
    where something else than the legs carries the body; None lets the feet carry it.
    """

    near_arm: Angles = (-10, -4)
    far_arm: Angles = (10, 6)
    near_leg: Angles = (-3, -3)
    far_leg: Angles = (4, 3)
    lean: float = 0
    view: float = 0.6
    hip: float | None = None


#: Near arm, far arm, near leg, far leg, and other peculiarities.
POSES: dict[str, Pose] = {
    "stand": Pose((-12, -5), (13, 7), (-4, -3), (5, 3), view=0.85),
    "face": Pose((-16, -8), (16, 8), (-6, -4), (6, 4), view=1),
    "hips": Pose((-44, 34), (16, 8), (-7, -4), (6, 4), view=0.9),
    "walk": Pose((-30, -8), (26, 44), (27, 12), (-20, -38), lean=3, view=0.35),
    "stroll": Pose((22, 36), (-22, -6), (-16, -30), (20, 8), lean=2, view=0.45),
    "run": Pose((-58, 16), (48, 120), (60, -12), (-30, -84), lean=11, view=0.3),
    "dash": Pose((52, 118), (-56, 20), (-34, -88), (54, -6), lean=12, view=0.3),
    "cheer": Pose((-152, -168), (152, 168), (-8, -5), (8, 5), view=1),
    "jump": Pose((-140, -160), (140, 160), (-28, -78), (34, -20), view=0.8),
    "wave": Pose((-14, -6), (138, 172), (-5, -3), (6, 4), view=0.9),
    "throw": Pose((-118, -176), (76, 88), (-22, -20), (26, 12), lean=-5, view=0.55),
    "reach": Pose((64, 82), (72, 96), (-8, -6), (12, 6), lean=5, view=0.45),
    "carry": Pose((14, 84), (28, 92), (-6, -4), (7, 4), view=0.55),
    "dance": Pose((-96, -150), (112, 62), (-30, -6), (30, -26), lean=4, view=0.75),
    "twirl": Pose((-150, -196), (128, 170), (-4, -3), (44, -42), view=0.8),
    "sit": Pose((14, 58), (26, 70), (84, 2), (78, 10), view=0.45, hip=0.29),
    "lounge": Pose((-34, -16), (30, 74), (102, 62), (112, 34), lean=-14, view=0.45, hip=0.075),
    "kneel": Pose((38, 62), (52, 70), (42, -88), (76, -10), lean=10, view=0.45),
    "crouch": Pose((48, 72), (60, 76), (112, -26), (100, -14), lean=16, view=0.4),
    "ski": Pose((28, 96), (36, 100), (34, -20), (40, -14), lean=14, view=0.4),
    "skate": Pose((-74, -60), (66, 84), (-2, -34), (50, -8), lean=8, view=0.45),
}


def along(start: Point, length: float, angle: float) -> Point:
    """The point `length` from `start` in the direction `angle`."""
    return (start[0] + length * sin(radians(angle)), start[1] + length * cos(radians(angle)))


def bend(start: Point, target: Point, upper: float, lower: float, *, outward: float) -> Angles:
    """Return the angles of a two-piece limb from `start` whose end comes as near to `target` as possible.

    `outward` is the sign of the side to which the middle joint points.
    """
    dx, dy = target[0] - start[0], target[1] - start[1]
    far = min(max(hypot(dx, dy), abs(upper - lower) + 1e-6), (upper + lower) * 0.999)
    towards = degrees(atan2(dx, dy))
    inner = degrees(acos((upper**2 + far**2 - lower**2) / (2 * upper * far)))
    first = towards + outward * inner
    joint = along(start, upper, first)
    reached = along(start, far, towards)
    return first, degrees(atan2(reached[0] - joint[0], reached[1] - joint[1]))


@dataclass(frozen=True, slots=True)
class Skeleton:
    """The positions of the joints of a posed body. Arms are (shoulder, elbow, hand), legs (hip, knee,
    ankle)."""

    hip: Point
    neck: Point
    head: Point
    near_arm: tuple[Point, Point, Point]
    far_arm: tuple[Point, Point, Point]
    near_leg: tuple[Point, Point, Point]
    far_leg: tuple[Point, Point, Point]


def _chain(start: Point, upper: float, lower: float, angles: Angles) -> tuple[Point, Point, Point]:
    middle = along(start, upper, angles[0])
    return start, middle, along(middle, lower, angles[1])


def articulate(build: Build, pose: Pose, *, sole: float = 0.035) -> Skeleton:
    """Return the joints of a body of `build` in `pose`; `sole` is the height of the ankle above the
    ground."""
    thigh, shin = build.leg * 0.5, build.leg * 0.5 - 0.01
    spread = build.hip * 0.5 * max(0.25, pose.view)
    near_leg = _chain((-spread, 0), thigh, shin, pose.near_leg)
    far_leg = _chain((spread, 0), thigh, shin, pose.far_leg)
    if pose.hip is None:
        height = max(near_leg[1][1], near_leg[2][1], far_leg[1][1], far_leg[2][1]) + sole
    else:
        height = pose.hip
    hip = (0.0, -height)

    def stood(leg: tuple[Point, Point, Point]) -> tuple[Point, Point, Point]:
        a, b, c = leg
        return (a[0], a[1] - height), (b[0], b[1] - height), (c[0], c[1] - height)

    up = 180 - pose.lean
    neck = along(hip, build.torso, up)
    head = along(neck, build.head * 0.58, up)
    yoke = along(hip, build.torso * 0.93, up)
    half = build.shoulder * 0.86 * max(0.22, pose.view)
    co, si = cos(radians(pose.lean)), sin(radians(pose.lean))
    lower = build.arm * 0.94
    return Skeleton(
        hip=hip,
        neck=neck,
        head=head,
        near_arm=_chain((yoke[0] - half * co, yoke[1] - half * si), build.arm, lower, pose.near_arm),
        far_arm=_chain((yoke[0] + half * co, yoke[1] + half * si), build.arm, lower, pose.far_arm),
        near_leg=stood(near_leg),
        far_leg=stood(far_leg),
    )
