"""One thread inside, the old number after, and torch only if it is there already."""

import subprocess
import sys

import pytest
import torch
from threadpoolctl import threadpool_info

from specmini.engine.threads import single_thread


def test_one_thread_inside_and_the_old_number_after():
    def counts():
        return [pool["num_threads"] for pool in threadpool_info()], torch.get_num_threads()

    before = counts()
    with single_thread():
        pools, torch_threads = counts()
        assert set(pools) == {1}
        assert torch_threads == 1
    assert counts() == before
    with pytest.raises(KeyError), single_thread():
        raise KeyError
    assert counts() == before


def test_a_model_that_is_a_table_is_timed_without_torch():
    code = (
        "import sys, numpy as np\n"
        "from specmini import measure\n"
        "from specmini.engine import table_model\n"
        "from specmini.measure import latency, results\n"
        "rng = np.random.default_rng(0)\n"
        "model = table_model.TableModel(table_model.random_table(4, 1, rng))\n"
        "latency.pass_times(model, [1, 2], past=3, repeats=1, rng=rng)\n"
        "print('torch' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "False\n"
