"""The job that updates a campaign's layer with its answers."""

from dataclasses import dataclass

from annotation.common.operations import OperationContext
from annotation.datasets import layers
from annotation.selectors.corpora import CampaignRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshLayerRequest(CampaignRequest):
    """Write the images whose newest answers are not in it yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshedLayer:
    """The number of images written."""

    images: int


def refresh_layer(request: RefreshLayerRequest, context: OperationContext) -> RefreshedLayer:
    """Write all images whose newest answers are not in the layer."""
    row = request.row()
    total, written = layers.count_images_behind(row), 0
    context.report_progress("writing images", 0.0)
    for number in layers.update_layer_in_steps(row, at_most=total):
        written += number
        context.report_progress("writing images", written / max(1, total))
    return RefreshedLayer(images=written)
