"""What describes captions and images, by the form that a method takes them in."""

from collections.abc import Mapping

from models_core.estimators.base import CAPTION_VIEW, IMAGE_VIEW, Form
from models_core.systems.image_sides import IMAGE_SIDES
from models_core.systems.side_contracts import SideKind
from models_core.systems.text_sides import TEXT_SIDES

#: Kind of item -> the form that a method takes it in -> the side.
SIDES: Mapping[str, Mapping[Form, SideKind]] = {CAPTION_VIEW: TEXT_SIDES, IMAGE_VIEW: IMAGE_SIDES}
