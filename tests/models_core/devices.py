"""The device of tests of GPU code: torch on the CPU, or the device named by TESTS_DEVICE.

TESTS_DEVICE=cuda pytest tests/models_core -k on_device
"""

from __future__ import annotations

import os

TORCH = os.environ.get("TESTS_DEVICE", "torch:cpu")
