"""Vectors of pictures from a convolutional network that the user names: an ONNX file, or weights of a network
of torchvision or timm.

A picture is rotated by its EXIF data and scaled so that its shorter side is `shorter`. Then it is cropped to
a square in its centre, or to ten squares (the centre, the corners and their mirror images) whose vectors are
averaged, or it is squeezed into a square as a whole. Colours are divided by 255, centred by a mean and
divided by a deviation. An output of shape (pictures, channels, height, width) is pooled: by mean, by maximum,
or by R-MAC. Activations of a network as features: Gong et al. 2014, section 2.3.

R-MAC: the maxima of square regions at the scales 1, 2 and 4, each vector normalized to length 1, summed, and
normalized again. Source: Tolias et al. 2016, from memory, without their whitening.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from pydantic import Field

from models_core.checked_fields import CheckedRecord, read_fields
from models_core.features.image.networks import USUAL_SIDE, BadWeights, Network, OnnxNetwork
from models_core.features.image.pictures import Picture, upright
from models_core.features.image.torch_networks import TorchNetwork, published_settings
from models_core.features.principal_axes import unit_rows

Pooling = Literal["average", "max", "rmac"]
Interpolation = Literal["bilinear", "bicubic"]
_FILTERS: Mapping[str, Image.Resampling] = {
    "bilinear": Image.Resampling.BILINEAR,
    "bicubic": Image.Resampling.BICUBIC,
}
#: Scales of R-MAC; the sides of its regions are 2 min(height, width) / (scale + 1).
RMAC_SCALES = (1, 2, 4)
#: Settings that enter digests only if they are not the defaults.
_LATER = ("network", "side", "interpolation")
#: Share by which neighbouring regions should overlap.
_OVERLAP = 0.4


@dataclass(frozen=True, slots=True)
class CNNSettings(CheckedRecord):
    """How pictures are prepared for a network, and which output is used. Raises BadField."""

    shorter: Annotated[int, Field(ge=1, description="Pixels of the scaled picture's shorter side")] = 256
    crops: Annotated[
        Literal[0, 1, 10],
        Field(description="How many squares are cut out; 0: the whole picture is squeezed into one"),
    ] = 1
    pooling: Annotated[Pooling, Field(description="What is made of an output with height and width")] = (
        "average"
    )
    output: Annotated[str, Field(description="The network's output; empty for its last")] = ""
    mean: Annotated[tuple[float, float, float], Field(strict=False, description="Of red, green, blue")] = (
        0.485,
        0.456,
        0.406,
    )
    deviation: Annotated[
        tuple[float, float, float], Field(strict=False, description="Of red, green, blue")
    ] = (0.229, 0.224, 0.225)
    scale: Annotated[float, Field(gt=0, description="What colours from 0 to 255 are divided by")] = 255.0
    blue_first: Annotated[bool, Field(description="Whether blue comes first, as with Caffe's models")] = False
    network: Annotated[
        str,
        Field(
            pattern=r"^((torchvision|timm)/[A-Za-z0-9_.]+)?$",
            description="The network whose weights the file holds, as timm/resnet50; empty for an ONNX file",
        ),
    ] = ""
    side: Annotated[
        int, Field(ge=0, description="Pixels of the square; 0: as the network has it, or 224")
    ] = 0
    interpolation: Annotated[Interpolation, Field(description="How pictures are scaled")] = "bilinear"

    @property
    def changed_settings(self) -> dict[str, Any]:
        """Return plain data for digests and origins, in which later fields appear only if they are not the
        defaults."""
        usual = {field.name: field.default for field in fields(self)}
        return {key: value for key, value in asdict(self).items() if key not in _LATER or value != usual[key]}


def cnn_settings(values: Mapping[str, Any]) -> CNNSettings:
    """Return settings; those not in `values` are the published ones of the network, or else the defaults.

    Raises BadField, LibraryMissing, and BadWeights for a network that its library lacks.
    """
    usual = asdict(CNNSettings())
    settings = read_fields(CNNSettings, {**usual, **values})
    if settings["network"]:
        settings = read_fields(CNNSettings, {**usual, **published_settings(settings["network"]), **values})
    return CNNSettings(**settings)


class CNN:
    """A network from a file. `digest` identifies weights and settings, `dimensions` is the length of vectors.

    Raises BadWeights for a file that is no such network, a network whose input is not pictures, and an output
    that it lacks; OSError if the file cannot be read; LibraryMissing; ModuleNotFoundError without
    onnxruntime.
    """

    def __init__(self, weights: Path, settings: CNNSettings | None = None) -> None:
        self.settings = settings or CNNSettings()
        data = weights.read_bytes()
        described = json.dumps(self.settings.changed_settings, sort_keys=True).encode()
        self.digest = hashlib.sha256(hashlib.sha256(data).digest() + described).hexdigest()
        output, side = self.settings.output, self.settings.side
        self._network: Network
        if self.settings.network:
            own_side = side or USUAL_SIDE
            self._network = TorchNetwork(self.settings.network, weights, data, side=own_side, output=output)
        else:
            self._network = OnnxNetwork(weights, data, output=output, side=side)
        self.side = self._network.side
        if max(self.side) > self.settings.shorter:
            raise BadWeights(
                f"{weights}: takes pictures of {self.side[0]} x {self.side[1]}; scale them to as much at "
                f"least (shorter is {self.settings.shorter})"
            )
        self.dimensions = len(self._vectors(np.zeros((1, 3, *self.side), np.float32))[0])

    def describe(self, pictures: Sequence[Picture]) -> NDArray[np.float32]:
        """Return a vector for each picture, shape (pictures, dimensions). Raises BadPicture, naming the
        file."""
        squares = [self._squares(upright(picture)) for picture in pictures]
        return self._averaged(squares)

    def describe_regions(
        self, picture: Picture, boxes: Sequence[tuple[int, int, int, int]]
    ) -> NDArray[np.float32]:
        """Return a vector for each box (x1, y1, x2, y2), 1-based and inclusive, scaled to the network's
        square.

        Raises BadPicture for an invalid picture, ValueError for a box outside it.
        """
        image = upright(picture)
        vectors = []
        for x1, y1, x2, y2 in boxes:
            if not (1 <= x1 <= x2 <= image.width and 1 <= y1 <= y2 <= image.height):
                raise ValueError(
                    f"box {(x1, y1, x2, y2)} is not within picture {picture.path} of {image.width} x "
                    f"{image.height}"
                )
            part = image.crop((x1 - 1, y1 - 1, x2, y2)).resize(self.side[::-1], self._filter)
            vectors.append([self._scaled(part)])
        return self._averaged(vectors)

    @property
    def _filter(self) -> Image.Resampling:
        return _FILTERS[self.settings.interpolation]

    def _squares(self, image: Image.Image) -> list[NDArray[np.float32]]:
        if not self.settings.crops:
            return [self._scaled(image.resize(self.side[::-1], self._filter))]
        factor = self.settings.shorter / min(image.size)
        size = (max(1, round(image.width * factor)), max(1, round(image.height * factor)))
        scaled = image.resize(size, self._filter)
        height, width = self.side
        right, low = scaled.width - width, scaled.height - height
        corners = [(right // 2, low // 2)]
        if self.settings.crops == 10:
            corners += [(0, 0), (right, 0), (0, low), (right, low)]
        squares = [self._scaled(scaled.crop((x, y, x + width, y + height))) for x, y in corners]
        return squares + ([square[:, :, ::-1] for square in squares] if self.settings.crops == 10 else [])

    def _scaled(self, image: Image.Image) -> NDArray[np.float32]:
        """Return pixels of shape (3, height, width)."""
        colours = np.asarray(image, np.float32) / np.float32(self.settings.scale)
        mean, deviation = (
            np.asarray(statistic, np.float32) for statistic in (self.settings.mean, self.settings.deviation)
        )
        colours = (colours - mean) / deviation
        if self.settings.blue_first:
            colours = colours[:, :, ::-1]
        return np.ascontiguousarray(colours.transpose(2, 0, 1))

    def _averaged(self, squares: list[list[NDArray[np.float32]]]) -> NDArray[np.float32]:
        averages = np.empty((len(squares), self.dimensions), np.float32)
        for index, crops in enumerate(squares):
            averages[index] = self._vectors(np.stack(crops)).mean(axis=0)
        return averages

    def _vectors(self, pictures: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return vectors of squares of shape (pictures, 3, height, width)."""
        step = self._network.batch or len(pictures)
        vectors: list[Any] = []
        for start in range(0, len(pictures), step):
            part = pictures[start : start + step]
            short = step - len(part)
            if short:  # a network with a fixed batch size needs a full batch
                part = np.concatenate([part, np.zeros((short, *part.shape[1:]), np.float32)])
            out = self._network.run(part)
            vectors.append(out[: len(out) - short] if short else out)
        values = np.concatenate(vectors)
        if values.ndim == 4:
            return pooled_maps(values, self.settings.pooling)
        if values.ndim != 2:
            raise BadWeights(
                f"{self._network.label}: output {self.settings.output!r} has shape {values.shape}; expected "
                "(pictures, numbers), or (pictures, channels, height, width)"
            )
        return values


def pooled_maps(maps: NDArray[np.float32], pooling: Pooling) -> NDArray[np.float32]:
    """Pool maps of shape (pictures, channels, height, width) to shape (pictures, channels)."""
    if pooling == "average":
        return np.asarray(maps.mean(axis=(2, 3)))
    if pooling == "max":
        return np.asarray(maps.max(axis=(2, 3)))
    added = np.zeros(maps.shape[:2], np.float32)
    for y, x, side in rmac_regions(maps.shape[2], maps.shape[3]):
        added += unit_rows(maps[:, :, y : y + side, x : x + side].max(axis=(2, 3)))
    return unit_rows(added)


def rmac_regions(height: int, width: int) -> list[tuple[int, int, int]]:
    """Return the squares (y, x, side) of R-MAC on a map of this size, evenly spread at each scale.

    The longer side has as many more as make neighbours of scale 1 overlap by about 40 %.
    """
    short, long = min(height, width), max(height, width)
    more = 0
    if long > short:
        overlaps = {n: 1 - (long - short) / (n * short) for n in range(1, 7)}
        more = min(overlaps, key=lambda n: abs(overlaps[n] - _OVERLAP))
    regions = []
    for scale in RMAC_SCALES:
        side = max(1, 2 * short // (scale + 1))
        down, across = (scale, scale + more) if width >= height else (scale + more, scale)
        for y in np.linspace(0, height - side, down).astype(int):
            for x in np.linspace(0, width - side, across).astype(int):
                regions.append((int(y), int(x), side))
    return regions
