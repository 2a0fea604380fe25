"""Memory is estimated before the work begins; the message says what would fit, and a failed allocation is one
line."""

import re
import resource
import subprocess
import sys
import tracemalloc
from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models_core import memory
from models_core.estimators import fitting
from models_core.estimators.base import METHODS, FitContext
from models_core.estimators.discovery import load_methods
from models_core.memory import NotEnoughMemory, available_memory, check_memory, memory_errors
from tests.conftest import REPOSITORY
from tests.models_core.estimators.vectors import paired

load_methods()
MIB = 2**20


@pytest.mark.parametrize(("limit", "most"), [("RLIMIT_AS", 2000), ("RLIMIT_DATA", 2000)])
def test_a_limit_of_the_process_is_what_is_left_of_it(limit, most):
    program = (
        "import resource; from models_core.memory import available_memory;"
        f"resource.setrlimit(resource.{limit}, ({most} * 2**20,) * 2); print(available_memory())"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=REPOSITORY, capture_output=True, check=True)
    assert 0 < int(done.stdout) < most * MIB


@pytest.mark.parametrize(
    ("line", "files"),
    [
        ("0::/a/b", {"a/b/memory.max": "max", "a/memory.max": "900", "a/memory.current": "500"}),
        (
            "4:cpu,memory:/a",
            {"memory/a/memory.limit_in_bytes": "900", "memory/a/memory.usage_in_bytes": "500"},
        ),
    ],
)
def test_a_control_group_and_those_around_it_limit_memory(tmp_path, monkeypatch, line, files):
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text("3:cpu:/elsewhere\n" + line + "\n")
    (tmp_path / "proc/meminfo").write_text("MemTotal: 9 kB\nMemAvailable:   8 kB\n")
    for name, text in files.items():
        file = tmp_path / "groups" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n")
        (file.parent / "memory.stat").write_text("anon 5\ninactive_file 100\n")
    monkeypatch.setattr(memory, "_PROC", tmp_path / "proc")
    monkeypatch.setattr(memory, "_CGROUPS", tmp_path / "groups")
    if resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY:
        assert available_memory() == 900 - 500 + 100


@given(
    st.integers(1, 10**6),
    st.dictionaries(st.sampled_from("abc"), st.tuples(st.integers(1, 10**5), st.integers(0, 50)), min_size=1),
)
def test_what_would_fit_fits_and_nothing_is_said_where_all_does(available, given_amounts):
    amounts = {name: amount for name, (amount, _) in given_amounts.items()}

    def needed(some):
        return sum(some[name] * weight for name, (_, weight) in given_amounts.items())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory, "available_memory", lambda: available)
        if needed(amounts) <= available:
            check_memory("it", needed, amounts)
            return
        with pytest.raises(NotEnoughMemory) as refusal:
            check_memory("it", needed, amounts)
    text = str(refusal.value)
    assert "\n" not in text and text.startswith("it needs about")
    fewer = {
        name: int(number.replace(",", "")) for name, number in re.findall("([abc]): ([0-9,]+) instead", text)
    }
    if together := "or all of" in text:
        assert needed({**amounts, **fewer}) <= available
    for name, amount in amounts.items():
        step = max(1, amount // 1000)
        if name in fewer and not together:
            assert needed({**amounts, name: fewer[name]}) <= available
            assert needed({**amounts, name: fewer[name] + step}) > available
        else:
            assert needed({**amounts, name: step}) > available


@pytest.mark.parametrize(
    "reason", [MemoryError("Unable to allocate 3 GiB"), MemoryError(), RuntimeError("t allocate memory\nx")]
)
def test_an_allocation_that_fails_is_one_line(reason):
    with pytest.raises(NotEnoughMemory) as refusal, memory_errors("training recipe 'SAE'"):
        raise reason
    assert re.fullmatch(
        r"training recipe 'SAE' ran out of memory.*; give it more memory, .*", str(refusal.value)
    )
    with pytest.raises(RuntimeError, match="other"), memory_errors("it"):
        raise RuntimeError("other")


@pytest.mark.parametrize("name", sorted(name for name, method in METHODS.items() if method.learns))
def test_every_method_that_learns_says_what_it_takes_and_a_smaller_one_takes_no_more(name):
    method = METHODS[name]
    train, new = paired(10, held_out=5)
    amounts = dict.fromkeys(fitting.amounts_of(train, new, {}), 1000)
    whole = method.memory(method.settings(), amounts)
    assert whole > 10**6
    assert all(method.memory(method.settings(), {**amounts, key: 500}) <= whole for key in amounts)


@pytest.mark.parametrize("name", ["cca", "ridge", "joint", "stacked", "text-feature"])
def test_an_estimate_is_near_the_peak(name):
    method, (train, new) = METHODS[name], paired(300, captions=1, x=200, y=300, held_out=50)
    weak = {"weak": paired(300, captions=1, x=200, y=300)[0]} if method.needs else {}
    few = {"features": 200, "ridges": (0.1,), "powers": (1.0,)}
    names = {field.name for field in fields(method.settings)}
    settings = method.settings(**{key: value for key, value in few.items() if key in names})
    tracemalloc.start()
    try:
        method.make(settings).fit(train, new, FitContext(auxiliary=weak))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert 0.7 * peak <= method.memory(settings, fitting.amounts_of(train, new, weak)) <= 4 * peak + 100 * MIB


def test_what_does_not_fit_is_refused_before_it_is_learned(monkeypatch):
    method, (train, new) = METHODS["cca"], paired(30, held_out=12)
    monkeypatch.setattr(memory, "available_memory", lambda: 1000)
    with pytest.raises(NotEnoughMemory, match="learning 'CCA' needs about .* GiB are left; "):
        fitting.fit_method(method, method.settings(), train, new, FitContext())
