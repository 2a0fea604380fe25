"""Several processes together make the same steps as one alone: torchrun, DistributedDataParallel and gloo."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("torch", exc_type=ImportError)
SCRIPT = "tests.models_core.estimators.neural.in_processes"


@pytest.mark.slow
def test_two_processes_have_the_losses_of_one_with_the_same_batches(tmp_path):
    alone, together = tmp_path / "alone.json", tmp_path / "together.json"
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    torchrun = ["torch.distributed.run", "--standalone", "--nproc-per-node", "2", "--module", SCRIPT]
    for started, file in (([SCRIPT], alone), (torchrun, together)):
        subprocess.run([sys.executable, "-m", *started, str(file)], check=True, env=environment, timeout=120)
    item, two = (json.loads(file.read_text()) for file in (alone, together))
    assert item.keys() == {"best-region", "fragments", "captions"} == two.keys()
    for name, losses in item.items():
        assert len(losses) == 51 and losses[-2] < losses[0], "it learns"
        np.testing.assert_allclose(two[name], losses, rtol=1e-5, err_msg=name)
