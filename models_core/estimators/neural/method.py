"""The methods of Karpathy and Fei-Fei 2015: the alignment, and the captions of images and of regions; and
joint embeddings of whole images and captions."""

from models_core.estimators.base import (
    CAPTION_NUMBERS,
    CAPTION_VIEW,
    IMAGE_NUMBERS,
    IMAGE_VIEW,
    TRAINING_CAPTIONS,
    WORDS,
    Amounts,
    Form,
    add_method,
)
from models_core.estimators.neural.alignment import Alignment
from models_core.estimators.neural.captioner import RecurrentCaptioner
from models_core.estimators.neural.embedder import JointEmbedder
from models_core.estimators.neural.settings import (
    ALIGNMENTS,
    CAPTIONERS,
    CONTRASTIVE_EMBEDDERS,
    EDGE_ALIGNMENTS,
    MARGIN_EMBEDDERS,
    PHASES,
    REGION_CAPTIONERS,
    AlignmentSettings,
    CaptionerSettings,
    ContrastiveSettings,
    EmbedderSettings,
    MarginSettings,
)

#: Steps of a fixed rate make no progress on shorter rows, and diverge on longer ones.
_LENGTHS = (1e-2, 1e4)
#: The assumed number of regions of an image, and of words of a sentence, in a batch.
_REGIONS, _WORDS = 20, 30


def alignment_memory(settings: AlignmentSettings, amounts: Amounts) -> float:
    """Return the memory of the weights with gradients, momentum and the stored members, and of a batch and
    its products with their gradients."""
    size, batch = settings.size, settings.batch
    word_size = amounts[CAPTION_NUMBERS] or settings.word_size
    weights = amounts[IMAGE_NUMBERS] * size + amounts[WORDS] * word_size + (word_size + 5 * size) * size
    activations = batch * (_REGIONS * (amounts[IMAGE_NUMBERS] + size) + _WORDS * 8 * size)
    products = 3 * batch * batch * _REGIONS * _WORDS
    return 4.0 * (weights * (4 + settings.members) + 2 * activations + products)


def captioner_memory(settings: CaptionerSettings, amounts: Amounts) -> float:
    """Return the memory of the weights with gradients, squares and the best ones, and of a batch with a
    number for each word of the vocabulary at each position, three times."""
    size, words = settings.size, amounts[WORDS]
    word_size = amounts[CAPTION_NUMBERS] or settings.word_size
    weights = (amounts[IMAGE_NUMBERS] + 2 * size + words) * size + words * word_size + word_size * size
    activations = settings.batch * _WORDS * (3 * words + 6 * size)
    return 4.0 * (weights * 5 + activations)


def embedder_memory(settings: EmbedderSettings, amounts: Amounts) -> float:
    """Return the memory of the weights with gradients, both moments and the best ones, of a batch in double
    and in single precision, and of its scores with their gradients."""
    numbers = amounts[IMAGE_NUMBERS] + amounts[CAPTION_NUMBERS]
    layer = settings.hidden or settings.size
    weights = numbers * layer + 2 * settings.hidden * settings.size
    blocks = max(amounts[IMAGE_NUMBERS], amounts[CAPTION_NUMBERS]) * min(8192, amounts[TRAINING_CAPTIONS])
    batch = settings.batch * (5 * numbers + 8 * (layer + settings.size) + 3 * settings.batch)
    return 4.0 * (7 * weights + batch) + 2 * 8.0 * blocks


add_method(
    name="alignment",
    lengths=_LENGTHS,
    memory=alignment_memory,
    title="Alignment of regions and words",
    settings=AlignmentSettings,
    make=Alignment,
    load=Alignment.from_state,
    takes={IMAGE_VIEW: "regions", CAPTION_VIEW: "words"},
    source="Karpathy and Fei-Fei 2015, section 3.1",
    phases=PHASES,
    recipes=ALIGNMENTS,
    by_processes=True,
)
add_method(
    name="edge-alignment",
    lengths=_LENGTHS,
    memory=alignment_memory,
    title="Alignment of regions and dependency edges",
    settings=AlignmentSettings,
    make=Alignment,
    load=Alignment.from_state,
    takes={IMAGE_VIEW: "regions", CAPTION_VIEW: "edges"},
    source="Karpathy and Fei-Fei 2015, section 4.1",
    phases=PHASES,
    recipes=EDGE_ALIGNMENTS,
    by_processes=True,
)
add_method(
    name="captioner",
    lengths=_LENGTHS,
    memory=captioner_memory,
    title="Captions word by word",
    settings=CaptionerSettings,
    make=RecurrentCaptioner,
    load=RecurrentCaptioner.from_state,
    takes={IMAGE_VIEW: "vectors", CAPTION_VIEW: "words"},
    source="Karpathy and Fei-Fei 2015, section 3.2",
    phases=PHASES,
    recipes=CAPTIONERS,
    predicts="captions",
    by_processes=True,
)
add_method(
    name="region-captioner",
    lengths=_LENGTHS,
    memory=captioner_memory,
    title="Captions of regions word by word",
    settings=CaptionerSettings,
    make=RecurrentCaptioner,
    load=RecurrentCaptioner.from_state,
    takes={IMAGE_VIEW: "vectors", CAPTION_VIEW: "words"},
    source="Karpathy and Fei-Fei 2015, sections 3.2 and 4.3",
    phases=PHASES,
    recipes=REGION_CAPTIONERS,
    predicts="captions",
    by_processes=True,
    items="regions",
)

#: The form of captions -> what the names of methods and recipes add, and their titles.
_CAPTION_FORMS: dict[Form, tuple[str, str]] = {"vectors": ("", ""), "given": ("-given", ", given vectors")}
for form, (ending, addition) in _CAPTION_FORMS.items():
    for name, title, settings, recipes, source in (
        (
            "margin-embedding",
            "Joint embedding by margins",
            MarginSettings,
            MARGIN_EMBEDDERS,
            "Faghri et al. 2018, section 3.1",
        ),
        (
            "contrastive-embedding",
            "Joint embedding by InfoNCE",
            ContrastiveSettings,
            CONTRASTIVE_EMBEDDERS,
            "Radford et al. 2021, section 2.3",
        ),
    ):
        add_method(
            name=f"{name}{ending}",
            memory=embedder_memory,
            title=f"{title}{addition}",
            settings=settings,
            make=JointEmbedder,
            load=JointEmbedder.from_state,
            takes={IMAGE_VIEW: "vectors", CAPTION_VIEW: form},
            source=source,
            phases=PHASES,
            recipes={f"{recipe}{ending}": held for recipe, held in recipes.items()},
        )
