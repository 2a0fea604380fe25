"""Small networks as ONNX files: one with known outputs, and SqueezeNet from its arrays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def saved(nodes, inputs, outputs, weights, file: Path) -> Path:
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in outputs],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.save(model, file)
    return file


def colours(file: Path, *, side: int = 8, batch: int | str = "n") -> Path:
    """Write a network that returns the picture itself as `maps`, and the mean of each colour as `means`."""
    nodes = [
        helper.make_node("Identity", ["x"], ["maps"]),
        helper.make_node("ReduceMean", ["x"], ["means"], axes=[2, 3], keepdims=0),
    ]
    shape = [batch, 3, side, side]
    return saved(nodes, [("x", shape)], [("maps", shape), ("means", [batch, 3])], {}, file)


def squeezenet(arrays: Path, file: Path) -> Path:
    """Write SqueezeNet 1.0 up to `fire9`, its last maps before the classes."""
    held = np.load(arrays)
    nodes, weights = [], {}

    def convolution(source: str, name: str, **how: Any) -> str:
        weights[f"{name}/w"], weights[f"{name}/b"] = held[f"{name}/w"], held[f"{name}/b"]
        nodes.append(helper.make_node("Conv", [source, f"{name}/w", f"{name}/b"], [f"{name}/c"], **how))
        nodes.append(helper.make_node("Relu", [f"{name}/c"], [name]))
        return name

    def pool(source: str) -> str:
        nodes.append(
            helper.make_node(
                "MaxPool", [source], [f"{source}/p"], kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1
            )
        )
        return f"{source}/p"

    here = pool(convolution("x", "conv1", strides=[2, 2]))
    for number in range(2, 10):
        name = f"fire{number}"
        small = convolution(here, f"{name}/s")
        wide = [convolution(small, f"{name}/e1"), convolution(small, f"{name}/e3", pads=[1, 1, 1, 1])]
        nodes.append(helper.make_node("Concat", wide, [name], axis=1))
        here = pool(name) if number in (4, 8) else name
    shape = ["n", 3, 224, 224]
    return saved(nodes, [("x", shape)], [("fire9", ["n", 512, "h", "w"])], weights, file)
