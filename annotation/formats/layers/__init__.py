"""Formats of other tools whose boxes become a layer of a corpus: one module each, registered when this
package is imported. `conversion` turns what they read into a layer."""

from annotation.formats.layers import cvat as _cvat
from annotation.formats.layers import label_studio as _label_studio
from annotation.formats.layers import refcoco as _refcoco
from annotation.formats.layers import visual_genome as _visual_genome
