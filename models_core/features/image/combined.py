"""The "standard combined features" of Gong et al. 2014, table 1: GIST, colours, and three pooled descriptors.

PCA reduces GIST (960 numbers) and a histogram of red, green and blue (512) to 500 numbers each; CSIFT,
RGBSIFT and HOG on a regular grid are pooled by VLAD and reduced to 1,000 each; all are concatenated.
`learn_combined` learns codebooks and axes from pictures, `CombinedFeatures` describes others by them.

The paper reports codebooks of 500 words and VLAD vectors of 6,400 numbers, which do not divide evenly. Here
50 words of 128 numbers give 6,400; `words=500` gives 64,000. docs/features.md marks the choices that the
paper does not report.
"""

import hashlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from models_core.checked_fields import BadField, check_fields
from models_core.extras import LazyExtra
from models_core.features.image.gist import gist
from models_core.features.image.local_descriptors import local_descriptors
from models_core.features.image.pictures import Picture, Pixels, pixels, read_picture
from models_core.features.image.vlad import LocalCodebook, learn_codebook
from models_core.features.principal_axes import PrincipalAxes, unit_rows
from models_core.phase_cache import PhaseCache, digest_of_parts
from phrasebox.threads import cores, one_blas_thread

if TYPE_CHECKING:
    import cv2
else:
    cv2 = LazyExtra("cv2")


CombinedPart = Literal["gist", "rgb", "csift", "rgbsift", "hog"]
_PARTS: tuple[CombinedPart, ...] = ("gist", "rgb", "csift", "rgbsift", "hog")
#: Number of pictures whose vectors are stored together while axes are learned.
_BLOCK = 32
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class CombinedSettings:
    """Sizes of the parts, and the number of pictures that they are learned from. Raises BadField."""

    parts: Annotated[
        tuple[CombinedPart, ...],
        Field(strict=False, min_length=1, description="Which parts, in this order"),
    ] = _PARTS
    longer_side: Annotated[int, Field(ge=32, le=2048, description="Pixels of the scaled picture")] = 256
    gist_side: Annotated[
        int, Field(ge=16, le=1024, description="Pixels of the square that GIST is taken of")
    ] = 128
    orientations: Annotated[
        tuple[Annotated[int, Field(ge=1)], ...],
        Field(strict=False, min_length=1, description="GIST's filters at each scale, the finest first"),
    ] = (8, 8, 4)
    blocks: Annotated[int, Field(ge=1, le=16, description="GIST's blocks along each side")] = 4
    bins: Annotated[int, Field(ge=2, le=16, description="Of each colour's histogram")] = 8
    step: Annotated[int, Field(ge=1, description="Pixels from one SIFT descriptor to the next")] = 6
    diameter: Annotated[
        float, Field(gt=0, description="Of SIFT, whose 4 x 4 cells are 1.5 of it wide each")
    ] = 4.0
    words: Annotated[int, Field(ge=1, description="Centres of each codebook")] = 50
    word_numbers: Annotated[int, Field(ge=1, description="Numbers of a local descriptor after PCA")] = 128
    power: Annotated[float, Field(gt=0, le=1, description="Taken of VLAD's sums; 1 is none")] = 1.0
    gist_numbers: Annotated[int, Field(ge=1, description="Of GIST after PCA")] = 500
    rgb_numbers: Annotated[int, Field(ge=1, description="Of the colours' histogram after PCA")] = 500
    vlad_numbers: Annotated[int, Field(ge=1, description="Of each pooled descriptor after PCA")] = 1000
    unit: Annotated[bool, Field(description="Whether each reduced part is brought to length 1")] = True
    learn_from: Annotated[
        Literal["train", "all"], Field(description="The pictures that codebooks and axes are learned from")
    ] = "train"
    codebook_pictures: Annotated[int, Field(ge=1, description="Of which codebooks are learned")] = 500
    codebook_points: Annotated[int, Field(ge=1, description="Descriptors of each such picture")] = 100
    pca_pictures: Annotated[int, Field(ge=2, description="Of which the parts' axes are learned")] = 3000
    seed: Annotated[int, Field(ge=0, description="Of the pictures and points drawn, and of k-means")] = 0

    def __post_init__(self) -> None:
        check_fields(self)
        if len(set(self.parts)) < len(self.parts):
            raise BadField("parts", self.parts, "each part once")

    def numbers(self, part: CombinedPart) -> int:
        """Return the maximum number of dimensions of a part after PCA."""
        return {"gist": self.gist_numbers, "rgb": self.rgb_numbers}.get(part, self.vlad_numbers)


def colour_histogram(colours: Pixels, bins: int = 8) -> NDArray[np.float32]:
    """Return the share of pixels with each combination of red, green and blue, shape (bins^3,), blue fastest.

    `colours` has shape (height, width, 3). Bins have equal widths, up to rounding of 256 / bins.
    """
    bin_of = colours.astype(np.intp) * bins // 256
    joint = (bin_of[..., 0] * bins + bin_of[..., 1]) * bins + bin_of[..., 2]
    return (np.bincount(joint.ravel(), minlength=bins**3) / joint.size).astype(np.float32)


class CombinedFeatures:
    """Codebooks by the name of the local descriptor, and axes by the name of the part, to describe pictures.

    `digest` identifies settings and everything learned; `dimensions` is the length of vectors.
    """

    def __init__(
        self,
        settings: CombinedSettings,
        codebooks: dict[str, LocalCodebook],
        axes: dict[str, PrincipalAxes],
    ) -> None:
        self.settings, self.codebooks, self.axes = settings, codebooks, axes
        self.lengths = {part: axes[part].axes.shape[1] for part in settings.parts}
        self.dimensions = sum(self.lengths.values())
        learned = [
            array
            for codebook in codebooks.values()
            for array in (codebook.axes.mean, codebook.axes.axes, codebook.centres)
        ]
        learned += [array for codebook in axes.values() for array in (codebook.mean, codebook.axes)]
        self.digest = digest_of_parts(asdict(settings), cv2.__version__, *learned)

    def describe(self, pictures: Sequence[Picture]) -> NDArray[np.float32]:
        """Return a vector for each picture, shape (pictures, dimensions). Raises BadPicture, naming the
        file."""
        whole = _side_by_side(lambda picture: unreduced(picture, self.settings, self.codebooks), pictures)
        parts = []
        for part in self.settings.parts:
            rows = self.axes[part].transform(np.stack([parts_of_picture[part] for parts_of_picture in whole]))
            parts.append(unit_rows(rows) if self.settings.unit else rows)
        return np.hstack(parts)


def unreduced(
    picture: Picture, settings: CombinedSettings, codebooks: dict[str, LocalCodebook]
) -> dict[str, NDArray[np.float32]]:
    """Return each part of one picture before PCA, by name. Raises BadPicture."""
    colours = pixels(picture, settings.longer_side)
    local = local_descriptors(settings.step, settings.diameter)
    parts: dict[str, NDArray[np.float32]] = {}
    for part in settings.parts:
        if part == "gist":
            side = (settings.gist_side, settings.gist_side)
            way = cv2.INTER_AREA if settings.gist_side < settings.longer_side else cv2.INTER_LINEAR
            square = np.asarray(cv2.resize(colours, side, interpolation=way), np.uint8)
            parts[part] = gist(square, settings.orientations, settings.blocks)
        elif part == "rgb":
            parts[part] = colour_histogram(colours, settings.bins)
        else:
            field = local[part](colours)
            parts[part] = codebooks[part].pool(field.reshape(-1, field.shape[2]), settings.power)
    return parts


def learn_combined(
    paths: Sequence[Path], settings: CombinedSettings | None = None, *, cache: PhaseCache | None = None
) -> CombinedFeatures:
    """Learn codebooks and axes from some of the pictures; earlier results are read from `cache`.

    The sample of pictures depends on the seed and on the contents of the files, not on names or order. A part
    has at most as many dimensions as there are pictures, less one. Raises BadPicture, and ValueError for
    pictures that are too few or too similar.
    """
    settings, cache = settings or CombinedSettings(), cache or PhaseCache()
    drawn = _drawn(paths, settings.seed, cache)
    if len(drawn) < 2:
        raise ValueError(f"{len(drawn)} different pictures to learn from; expected 2 or more")
    codebooks = _codebooks(drawn[: settings.codebook_pictures], settings, cache)
    return CombinedFeatures(
        settings, codebooks, _axes(drawn[: settings.pca_pictures], codebooks, settings, cache)
    )


def _drawn(paths: Sequence[Path], seed: int, cache: PhaseCache) -> list[tuple[str, Path]]:
    """Return digests and files of pictures without duplicates, ordered by a hash of seed and content."""
    keyed: dict[bytes, tuple[str, Path]] = {}
    for index, path in enumerate(paths):
        if index % 100 == 0:
            cache.progress("reading pictures", index, len(paths))
        digest = read_picture(path).digest
        keyed.setdefault(hashlib.sha256(f"{seed} {digest}".encode()).digest(), (digest, path))
    cache.progress("reading pictures", len(paths), len(paths))
    return [drawn for _, drawn in sorted(keyed.items())]


def _codebooks(
    drawn: Sequence[tuple[str, Path]], settings: CombinedSettings, cache: PhaseCache
) -> dict[str, LocalCodebook]:
    names = [part for part in settings.parts if part in local_descriptors(settings.step, settings.diameter)]
    codebooks: dict[str, LocalCodebook] = {}
    for name in names:
        phase = f"learning the codebook of {name}"

        def make(name: str = name) -> dict[str, NDArray[Any]]:
            describe = local_descriptors(settings.step, settings.diameter)[name]

            def sample(named_path: tuple[str, Path]) -> NDArray[np.float32]:
                field = describe(pixels(read_picture(named_path[1]), settings.longer_side))
                points = field.reshape(-1, field.shape[2])
                rng = np.random.default_rng([settings.seed, int(named_path[0][:16], 16)])
                return points[rng.permutation(len(points))[: settings.codebook_points]]

            with one_blas_thread():
                points = np.concatenate(_side_by_side(sample, drawn))
                try:
                    codebook = learn_codebook(
                        points, words=settings.words, numbers=settings.word_numbers, seed=settings.seed
                    )
                except ValueError as error:
                    raise ValueError(f"codebook of {name}: {error}") from None
            return {"mean": codebook.axes.mean, "axes": codebook.axes.axes, "centres": codebook.centres}

        used = ("longer_side", "step", "diameter", "words", "word_numbers", "codebook_points", "seed")
        provenance = {key: getattr(settings, key) for key in used} | _region_metadata(drawn) | {"part": name}
        arrays = cache.arrays(phase, provenance, make)
        codebooks[name] = LocalCodebook(PrincipalAxes(arrays["mean"], arrays["axes"]), arrays["centres"])
    return codebooks


def _axes(
    drawn: Sequence[tuple[str, Path]],
    codebooks: dict[str, LocalCodebook],
    settings: CombinedSettings,
    cache: PhaseCache,
) -> dict[str, PrincipalAxes]:
    """Return the axes of each part, from pictures that are described in blocks; each block is cached."""
    settings_of_parts = {
        key: value for key, value in asdict(settings).items() if key not in ("learn_from", "unit")
    }
    learned = [
        array
        for codebook in codebooks.values()
        for array in (codebook.axes.mean, codebook.axes.axes, codebook.centres)
    ]
    provenance = settings_of_parts | {"codebooks": digest_of_parts(*learned)}

    def make() -> dict[str, NDArray[Any]]:
        whole: dict[str, NDArray[np.float32]] = {}
        for start in range(0, len(drawn), _BLOCK):
            block = drawn[start : start + _BLOCK]

            def described(block: Sequence[tuple[str, Path]] = block) -> dict[str, NDArray[Any]]:
                codebook = _side_by_side(
                    lambda named_path: unreduced(read_picture(named_path[1]), settings, codebooks), block
                )
                return {part: np.stack([rows[part] for rows in codebook]) for part in settings.parts}

            arrays = quiet.arrays("describing pictures", provenance | _region_metadata(block), described)
            for part, rows in arrays.items():
                if not start:
                    whole[part] = np.empty((len(drawn), rows.shape[1]), np.float32)
                whole[part][start : start + len(rows)] = rows
            cache.progress("describing pictures", start + len(block), len(drawn))
        axes: dict[str, NDArray[Any]] = {}
        for index, part in enumerate(settings.parts):
            cache.progress("reducing parts", index, len(settings.parts))
            most = min(settings.numbers(part), len(drawn) - 1)
            try:
                codebook = PrincipalAxes.fit(whole.pop(part), most)
            except ValueError:
                raise ValueError(
                    f"part {part} is the same in all {len(drawn)} pictures that are learned from; leave it "
                    "out by the setting parts, or give other pictures"
                ) from None
            axes |= {f"{part}.mean": codebook.mean, f"{part}.axes": codebook.axes}
        return axes

    quiet = PhaseCache(cache.folder)
    arrays = cache.arrays("learning axes", provenance | _region_metadata(drawn), make)
    return {part: PrincipalAxes(arrays[f"{part}.mean"], arrays[f"{part}.axes"]) for part in settings.parts}


def _region_metadata(drawn: Sequence[tuple[str, Path]]) -> dict[str, Any]:
    pictures = hashlib.sha256(" ".join(digest for digest, _ in drawn).encode()).hexdigest()
    return {"pictures": pictures, "opencv": cv2.__version__}


def _side_by_side(work: Callable[[Any], _T], items: Sequence[Any]) -> list[_T]:
    """Return `work(item)` for each item, in order, computed by one thread per core."""
    with one_blas_thread(), ThreadPoolExecutor(cores()) as pool:
        return list(pool.map(work, items))
