"""Figures as files: SVG that any page can hold, PDF for papers. The same figure is the same bytes.

The SVG is as `annotation.figures.svg` has it. The PDF is black on white, has no date, and holds its letters
as type.
"""

import io

from annotation.figures.style import styled
from annotation.figures.svg import drawn_as_svg
from evaluation.figures.base import FIGURE_DRAWERS, Plot


def as_svg(plot: Plot) -> str:
    """The figure as an SVG document without style, script or date; its title is that of the plot."""
    return drawn_as_svg(lambda: FIGURE_DRAWERS.get(plot.kind)(plot.data), key=plot.key, title=plot.title)


def as_pdf(plot: Plot) -> bytes:
    """The figure as a PDF document."""
    from matplotlib.backends.backend_pdf import FigureCanvasPdf

    out = io.BytesIO()
    with styled():
        figure = FIGURE_DRAWERS.get(plot.kind)(plot.data)
        FigureCanvasPdf(figure)
        figure.savefig(
            out,
            format="pdf",
            facecolor="white",
            metadata={"CreationDate": None, "Creator": None, "Producer": None, "Title": plot.title},
        )
    return out.getvalue()
