"""Whether a function drew random numbers is seen by the state of the generators, however that is read."""

from __future__ import annotations

import random
import statistics
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.stats

import tape
from tape.program.capture.chance import Chance, state_of

# ruff: noqa: NPY002  (what all share is what is tested)


@pytest.fixture(autouse=True)
def _as_before():
    generator, state = np.random.get_bit_generator(), np.random.get_state()
    yield
    np.random.set_bit_generator(generator)
    np.random.set_state(state)


def drawn(draw) -> bool:
    """Whether a draw is noticed, and undone."""
    before = repr(np.random.get_state(legacy=False))
    chance = Chance([], hidden=True)
    draw()
    noticed = chance.rewind()
    assert repr(np.random.get_state(legacy=False)) == before
    return noticed


@pytest.mark.parametrize("draw", [np.random.rand, np.random.normal, lambda: np.random.permutation(5)])
def test_draws_are_noticed_and_undone(draw):
    np.random.seed(3)
    assert not drawn(lambda: None)
    assert drawn(draw)


def test_half_of_a_pair_of_normal_numbers_may_be_left_over():
    np.random.seed(3)
    np.random.normal()
    words = np.random.get_state()[1:3]
    assert drawn(np.random.normal)  # which takes what is left, and leaves the words as they are
    np.random.normal()
    np.testing.assert_equal(np.random.get_state()[1:3], words)
    assert not drawn(lambda: None)


def test_another_generator_in_the_place_of_the_usual_one():
    np.random.set_bit_generator(np.random.PCG64(3))
    assert isinstance(state_of(np.random)[0], str)
    assert not drawn(lambda: None)
    assert drawn(np.random.rand)


@pytest.fixture
def elsewhere():
    """Another thread that draws without a pause from all that threads share: what it drew, once it is stopped."""
    drawn, stop = [], threading.Event()
    random.seed(5)
    np.random.seed(5)
    tape.manual_seed(5)

    def draw():
        while not stop.is_set():
            drawn.extend([(random.random(), np.random.random(), tape.rand(()).item()) for _ in range(10)])
            time.sleep(1e-5)  # otherwise it keeps all others waiting, for as long as Python lets it

    thread = threading.Thread(target=draw)
    thread.start()

    def stopped():
        stop.set()
        thread.join()
        return drawn

    yield stopped
    stopped()


def test_what_another_thread_draws_is_not_the_functions(elsewhere):
    """Functions that can get at no generator are compiled, and what the other draws is not put back."""

    def functions(k):
        yield lambda x: np.tanh(x) * k
        yield tape.func.grad(lambda x: (np.exp(x) * k).sum())

    def compiled(k):
        return [tape.compile(f)(np.ones(50)) for f in functions(k)]

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(compiled, range(1, 5)))
    for k, results in enumerate(found, 1):
        np.testing.assert_allclose(results[0], np.tanh(np.ones(50)) * k, rtol=1e-15)
        np.testing.assert_allclose(results[1], np.exp(np.ones(50)) * k, rtol=1e-15)
    drawn = elsewhere()
    random.seed(5)
    np.random.seed(5)
    tape.manual_seed(5)
    assert len(drawn) > 100
    assert drawn == [(random.random(), np.random.random(), tape.rand(()).item()) for _ in drawn]


OWN_DRAWS = {
    "numpy": lambda x: x + np.random.normal(),
    "python": lambda x: x + random.random(),
    "tape": lambda x: x + tape.randn(()).item(),
    "module": lambda x, r=np.random: x + r.normal(),
    "scipy": lambda x: x + scipy.stats.norm.rvs(),
    "statistics": lambda x: x + statistics.NormalDist().samples(1)[0],
    "vectorised": lambda x: x + np.vectorize(lambda v: v + random.random())(np.zeros(2)).sum(),
    "mapped": lambda x: x + sum(map(random.uniform, [0.0, 1.0], [2.0, 3.0])),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", OWN_DRAWS)
def test_a_functions_own_draws_are_seen_while_another_thread_draws(name, elsewhere):
    def drawn(_):
        compiled = tape.compile(OWN_DRAWS[name])
        return [float(compiled(np.zeros(1))[0]) for _ in range(4)]

    with ThreadPoolExecutor(4) as pool:
        for values in pool.map(drawn, range(4)):
            assert len(set(values)) > 1  # a recording elsewhere may put back what was drawn meanwhile


def test_what_arguments_draw_is_seen():
    def f(x, draw):
        return x + draw()

    for draw in (np.random.normal, random.random, np.random.RandomState(3).normal, np.random.default_rng(3).normal):
        with pytest.raises(tape.program.Untraceable, match="it drew random numbers"):
            tape.record(f, np.zeros(1), draw)
        with pytest.warns(RuntimeWarning, match="without compiling"):
            assert tape.compile(f)(np.zeros(1), draw) != 0
    for draw in (np.random.normal, random.random):  # what is promised not to change is not looked into
        with pytest.warns(RuntimeWarning, match=r"it drew random numbers.*np\.random\.default_rng\(seed\)"):
            assert tape.compile(lambda x, d=draw: x + d(), assume_constant=[draw])(np.zeros(1)) != 0


def test_another_seed_is_a_draw():
    """The generator that the function leaves behind is another one, which a replay would not make."""
    before = tape.random.generator()
    with pytest.warns(RuntimeWarning, match="it drew random numbers"):
        tape.compile(lambda x: x * tape.manual_seed(3).random())(np.ones(1))
    assert tape.random.generator() is not before  # it ran as it is, after what recording did was undone


SEEDED = {
    "a number": lambda x: x * np.random.RandomState(3).normal(size=3),
    "an integer of NumPy's": lambda x: x + np.random.RandomState(np.int64(3)).randint(0, 9, 3),
    "several": lambda x: x * np.random.RandomState([1, 2, 3]).uniform(size=3),
    "in a loop": lambda x: sum(x * np.random.RandomState(k).rand() for k in range(3)),
    "by name": lambda x: x * np.random.RandomState(seed=5).permutation(3),
    "an argument": lambda x: x * np.random.RandomState(len(x)).normal(size=3),
}
UNSEEDED = {
    "no seed": lambda x: x * np.random.RandomState().normal(),
    "None": lambda x: x * np.random.RandomState(None).normal(),
    "after one with a seed": lambda x: x * [np.random.RandomState(s) for s in (1, None)][1].normal(),
    "before one with a seed": lambda x: x * list(map(np.random.RandomState, (None, 1)))[-2].normal(),
    "what it is made of": lambda x: x * np.random.RandomState(np.random.MT19937()).normal(),
    "and another seeded": lambda x: x * (np.random.RandomState().normal() + np.random.RandomState(0).normal()),
}


@pytest.mark.parametrize("name", SEEDED)
def test_generators_of_the_old_kind_with_a_seed_are_part_of_the_program(name):
    """NumPy asks the system for a seed before it takes the one that is given."""
    f = SEEDED[name]
    compiled, x = tape.compile(f), np.array([1.0, 2.0, 3.0])
    for k in range(3):
        np.testing.assert_array_equal(compiled(x + k), f(x + k))


@pytest.mark.parametrize("name", UNSEEDED)
def test_generators_of_the_old_kind_without_a_seed_are_drawn_anew(name):
    compiled = tape.compile(UNSEEDED[name])
    with pytest.warns(RuntimeWarning, match="it drew random numbers"):
        first = compiled(np.ones(3))
    assert len({float(z[0]) for z in (first, compiled(np.ones(3)), compiled(np.ones(3)))}) == 3
