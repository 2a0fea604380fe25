"""Networks that describe squares of pictures, and a network from an ONNX file."""

from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from models_core.extras import load_extra

#: Side of the square in pixels if the network takes any.
USUAL_SIDE = 224


class BadWeights(ValueError):
    """A file of weights that cannot be used; one line with its content and what was expected."""


class Network(Protocol):
    """A network: `side` is the (height, width) of its input squares, `batch` its batch size or None for any;
    `label` is its name in errors."""

    @property
    def side(self) -> tuple[int, int]:
        """Height and width of the input squares."""

    @property
    def batch(self) -> int | None:
        """Number of squares per batch."""

    @property
    def label(self) -> str:
        """Name of the file."""

    def run(self, squares: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the output for squares of shape (pictures, 3, height, width); rows are pictures."""


class OnnxNetwork:
    """A network from an ONNX file, run by onnxruntime on the CPU; an empty `output` means its last.

    Raises BadWeights for a file that is no network, a network whose input is not pictures, and an output that
    it lacks; MissingExtra without onnxruntime.
    """

    def __init__(self, weights: Path, data: bytes, *, output: str = "", side: int = 0) -> None:
        onnxruntime = load_extra("onnxruntime")  # takes half a second, and few processes need it

        self.label = weights.name
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4  # errors are raised as exceptions
        try:
            self._session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime has its own exception for each kind of error
            line = str(error).splitlines()[0][:160] if str(error) else type(error).__name__
            raise BadWeights(f"{weights}: is no ONNX network that can be run ({line})") from error
        inputs = self._session.get_inputs()
        shape = inputs[0].shape if len(inputs) == 1 else None
        square = shape is not None and len(shape) == 4 and shape[1] == 3 and inputs[0].type == "tensor(float)"
        if not square:
            described = ", ".join(f"{tensor.name} {tensor.shape} of {tensor.type}" for tensor in inputs)
            raise BadWeights(
                f"{weights}: takes {described}; expected one input (pictures, 3, height, width) of floats"
            )
        assert shape is not None
        self._input = inputs[0].name
        self.batch: int | None = shape[0] if isinstance(shape[0], int) else None
        height, width = (extent if isinstance(extent, int) else side or USUAL_SIDE for extent in shape[2:])
        if side and (height, width) != (side, side):
            raise BadWeights(
                f"{weights}: takes pictures of {height} x {width}, and of no other side; leave the side out"
            )
        self.side: tuple[int, int] = (height, width)
        outputs = [tensor.name for tensor in self._session.get_outputs()]
        self._output = output or outputs[-1]
        if self._output not in outputs:
            raise BadWeights(f"{weights}: has no output {self._output!r}; it has {', '.join(outputs)}")

    def run(self, squares: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the output for squares of shape (pictures, 3, height, width)."""
        output: Any = self._session.run([self._output], {self._input: squares})[0]
        return np.asarray(output, np.float32)
