"""Figures as files: SVG that any page can embed, PDF for papers. The same figure gives the same bytes.

`annotation.figures.svg` describes the SVG. The PDF is black on white, has no date, and embeds its fonts.
"""

import io

from annotation.figures.style import styled
from annotation.figures.svg import drawn_as_svg
from evaluation.figures.base import FIGURE_DRAWERS, Plot


def as_svg(plot: Plot) -> str:
    """Return the figure as an SVG document without style, script or date; its title is the plot's."""
    return drawn_as_svg(lambda: FIGURE_DRAWERS.get(plot.kind)(plot.data), key=plot.key, title=plot.title)


def as_pdf(plot: Plot) -> bytes:
    """Return the figure as a PDF document."""
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
