"""Where tests of the path of a GPU compute: torch on the CPU, or the device that TESTS_DEVICE names.

TESTS_DEVICE=cuda pytest tests/models_core -k on_device
"""

from __future__ import annotations

import os

TORCH = os.environ.get("TESTS_DEVICE", "torch:cpu")
