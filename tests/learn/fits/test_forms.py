"""Forms that are not lines, and fits bound by cycles."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from ambidex import ASL, PairwiseFit, SymmetricPPO, Symmetry, SymmetryGroup, load
from ambidex.learn.fits.bent import FormMap, FormState, bend
from ambidex.learn.fits.forms import (
    DEAD_BAND,
    LINE,
    PROPORTIONAL,
    Form,
    around,
    fit_within_cycles,
    independent_cycles,
)
from ambidex.learn.fits.lines import dataset
from ambidex.learn.fits.relations import Relations
from ambidex.symmetry import IndexMap

TRIANGLE = load("triangle-paper")
# A cubic spring: y = x + c x^3, monotone, inverted by Cardano's formula.
CUBIC = Form(
    "cubic",
    lambda x, z: x + z[0] * x**3,
    lambda y, z: y if np.all(np.asarray(z[0]) == 0) else _cardano(y, z[0]),
    start=(0.0,),
    lower=(0.0,),
    upper=(5.0,),
)


def _cardano(y: np.ndarray, c: np.ndarray) -> np.ndarray:
    c = np.maximum(c, 1e-12)
    root = np.sqrt(y**2 / (4 * c**2) + 1 / (27 * c**3))
    return np.cbrt(y / (2 * c) + root) + np.cbrt(y / (2 * c) - root)


def policy(group: SymmetryGroup, commands: list[Form], z: list[tuple[float, ...]], seed: int = 0):
    """A symmetric policy on a robot whose actuator i needs G_i(c) for the canonical command c."""
    rng = np.random.default_rng(seed)
    canonical = rng.uniform(-1, 1, size=(500, group.action_size))

    def command(ideal: np.ndarray) -> np.ndarray:
        return np.stack([commands[i].function(ideal[:, i], z[i]) for i in range(len(z))], axis=1)

    return command(canonical), {s.name: command(s.action(canonical)) for s in group}


@given(x=st.floats(-3, 3), slope=st.floats(0.1, 5), width=st.floats(0, 2))
def test_dead_band_inverts(x: float, slope: float, width: float) -> None:
    command = DEAD_BAND.function(np.array([x]), (slope, width))
    assert DEAD_BAND.inverse(command, (slope, width))[0] == pytest.approx(x, abs=1e-9)
    if width > 0:
        assert DEAD_BAND.inverse(np.array([0.99 * width]), (slope, width))[0] == 0


@pytest.mark.parametrize("form", [PROPORTIONAL, LINE, DEAD_BAND])
def test_forms_serve_torch_as_numpy(form: Form) -> None:
    x = np.linspace(-2, 2, 11)
    z = (1.7, 0.3)[: len(form.start)]
    for side in (form.function, form.inverse):
        np.testing.assert_allclose(side(torch.tensor(x), z).numpy(), side(x, z))


@pytest.mark.parametrize(
    ("form", "z"), [(PROPORTIONAL, (1.8,)), (LINE, (0.6, -0.4)), (DEAD_BAND, (1.5, 0.2)), (CUBIC, (0.7,))]
)
def test_least_squares_find_the_parameters(form: Form, z: tuple[float, ...]) -> None:
    x = np.linspace(-1, 1, 101)
    np.testing.assert_allclose(form.fit(x, form.function(x, z)), z, atol=1e-5)


def test_a_form_must_start_at_the_identity() -> None:
    with pytest.raises(ValueError, match=r"'twice'.*function.*not the identity"):
        Form("twice", lambda x, z: 2 * x, lambda y, z: y, (1.0,), (0.0,), (2.0,))
    with pytest.raises(ValueError, match=r"'wrong'.*inverse"):
        Form("wrong", lambda x, z: z[0] * x, lambda y, z: y + 1, (1.0,), (0.0,), (2.0,))
    with pytest.raises(ValueError, match="one number per parameter"):
        Form("short", lambda x, z: x, lambda y, z: y, (1.0, 0.0), (0.0,), (2.0,))


def test_a_dead_band_is_found_between_limbs() -> None:
    """Limb 2 does nothing within a band of 0.3, which no line describes."""
    means, symmetric = policy(TRIANGLE, [LINE, LINE, DEAD_BAND], [(1.0, 0.0), (1.0, 0.0), (1.4, 0.3)])
    fit = PairwiseFit(form=DEAD_BAND, update_weight=lambda _: 1.0).start(TRIANGLE)
    assert isinstance(fit, FormState)
    fit.update(means, symmetric)
    np.testing.assert_allclose(fit.parameters, [[1, 0], [1.4, 0.3], [1.4, 0.3]], atol=1e-4)
    for symmetry in TRIANGLE:
        answer = fit.action_maps()[symmetry.name](means)
        np.testing.assert_allclose(answer, symmetric[symmetry.name], atol=1e-3)


def test_inverse_direction_of_reflections_of_a_form_that_is_not_odd() -> None:
    """Worked by hand on reflection c, which swaps limbs 0 and 1 with a sign."""
    fit = PairwiseFit(form=LINE).start(TRIANGLE)
    fit.parameters = np.array([[2.0, 0.5], [1.0, 0.0], [1.0, 0.0]])
    answer = fit.action_maps()["c"](np.array([0.3, 0.7, 0.2]))
    # tab:dataset: a'[1] = G(-a[0]) = 2 * -0.3 + 0.5, and a[1] = G(-a'[0]), so a'[0] = -(0.7 - 0.5) / 2
    np.testing.assert_allclose(answer, [-0.1, -0.1, -0.2], atol=1e-12)


@pytest.mark.parametrize("name", ["ant", "triangle-paper"])
def test_the_form_of_a_line_is_the_line(name: str) -> None:
    group = load(name)
    rng = np.random.default_rng(2)
    means = rng.normal(size=(200, group.action_size))
    symmetric = {s.name: 1.2 * s.action(means) + 0.1 * rng.normal(size=means.shape) for s in group}
    closed, general = (PairwiseFit(form=form).start(group) for form in ("mx", PROPORTIONAL))
    for _ in range(3):
        closed.update(means, symmetric)
        general.update(means, symmetric)
    for transform in group.names:
        one, other = closed.action_maps()[transform], general.action_maps()[transform]
        np.testing.assert_allclose(one(means), other(means), atol=1e-6)
        np.testing.assert_allclose(one.weights, other.weights, atol=1e-6)


def test_known_ratios_are_refused() -> None:
    given = load("triangle")["d"]
    known = IndexMap(given.action_map.indices, [1 / 3, 2, 1.5])
    group = SymmetryGroup([Symmetry.from_maps("d", given.observation_map, known)])
    with pytest.raises(ValueError, match="'d': a form starts from its own parameters"):
        PairwiseFit(form=DEAD_BAND).start(group)


def test_bending_tensors_as_arrays() -> None:
    means, symmetric = policy(TRIANGLE, [DEAD_BAND] * 3, [(1.0, 0.0), (1.5, 0.1), (2.0, 0.3)])
    fit = PairwiseFit(form=DEAD_BAND, update_weight=lambda _: 1.0).start(TRIANGLE)
    fit.update(means, symmetric)
    maps = fit.action_maps()
    assert all(isinstance(found, FormMap) for found in maps.values())
    signed = np.stack([s.action(means) for s in TRIANGLE], axis=1)
    bent = bend([*maps.values()], torch.tensor(signed)).numpy()
    for j, found in enumerate(maps.values()):
        np.testing.assert_allclose(bent[:, j], found(means))
    np.testing.assert_array_equal(bend([None] * 5, signed), signed)


@pytest.mark.parametrize(
    ("pairs", "count"),
    [
        ([(0, 1), (0, 2), (1, 2)], 1),
        ([(0, 1), (2, 3)], 0),
        ([(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)], 3),
        ([(0, 1), (1, 2), (2, 3), (0, 3), (4, 5)], 1),
    ],
)
def test_independent_cycles_return_to_where_they_began(pairs: list[tuple[int, int]], count: int) -> None:
    cycles = independent_cycles(pairs)
    assert len(cycles) == count  # edges - vertices + components
    for steps in cycles:
        where = start = pairs[steps[0][0]][0]
        for number, forward in steps:
            q, u = pairs[number]
            assert where == (q if forward else u)
            where = u if forward else q
        assert where == start


def noisy_triangle() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(4)
    scale = np.array([1.0, 2.0, 3.0])
    canonical = rng.normal(size=(300, 3))
    means = scale * (canonical + 0.4 * rng.normal(size=canonical.shape))
    symmetric = [scale * (s.action(canonical) + 0.4 * rng.normal(size=canonical.shape)) for s in TRIANGLE]
    return means, np.stack(symmetric)


def test_constrained_slopes_are_the_best_that_close_the_cycle() -> None:
    """Against a search over the free scales of the limbs: m = s_u / s_q closes every cycle by itself."""
    relations = Relations.of(TRIANGLE)
    data = noisy_triangle()
    found = fit_within_cycles(relations, PROPORTIONAL, *data)[:, 0]
    assert found[0] * found[2] / found[1] == pytest.approx(1, abs=1e-6)  # 0 -> 1 -> 2 -> 0

    def squares(log_ratios: np.ndarray) -> float:
        scales = np.exp(np.append(0, log_ratios))
        total = 0.0
        for pair, (q, u) in enumerate(relations.pairs):
            x, y = dataset(relations, pair, *data)
            total += float(np.sum((y - scales[u] / scales[q] * x) ** 2))
        return total

    scales = np.exp(np.append(0, minimize(squares, np.zeros(2)).x))
    expected = [scales[u] / scales[q] for q, u in relations.pairs]
    np.testing.assert_allclose(found, expected, rtol=1e-3)


@pytest.mark.parametrize("form", [LINE, DEAD_BAND])
def test_constrained_cycles_return_every_probe(form: Form) -> None:
    relations = Relations.of(TRIANGLE)
    found = fit_within_cycles(relations, form, *noisy_triangle())
    for steps in independent_cycles(relations.pairs):
        np.testing.assert_allclose(around(form, found, steps, np.array([1.0, 2.0])), [1, 2], atol=1e-5)


@pytest.mark.parametrize("form", ["mx", "mx+b", DEAD_BAND])
def test_constrain_cycles_as_an_option(form: str | Form) -> None:
    means, symmetric = noisy_triangle()
    fit = PairwiseFit(form=form, constrain_cycles=True).start(TRIANGLE)
    fit.update(means, dict(zip(TRIANGLE.names, symmetric, strict=True)))
    np.testing.assert_allclose(fit.update_weights, 0.05, rtol=1e-6)  # no cycle error is left
    with pytest.raises(ValueError, match="constrain_cycles"):
        PairwiseFit(form=np.polyfit, constrain_cycles=True)


def test_state_survives() -> None:
    means, symmetric = policy(TRIANGLE, [DEAD_BAND] * 3, [(1.0, 0.0), (1.5, 0.1), (2.0, 0.3)])
    one, other = (PairwiseFit(form=DEAD_BAND).start(TRIANGLE) for _ in range(2))
    one.update(means, symmetric)
    other.set_state(one.state())
    one.update(means, symmetric)
    other.update(means, symmetric)
    assert one.metrics() == other.metrics()
    with pytest.raises(ValueError, match="'dead band'"):
        other.set_state(PairwiseFit(form=PROPORTIONAL).start(TRIANGLE).state())


def test_in_training_the_target_is_the_bent_action() -> None:
    """ASL with a form whose parameters are the identity's learns exactly as ASL with the given maps."""
    from ambidex.envs.triangle.robot import TriangleVecEnv

    def trained(fit: PairwiseFit | None) -> SymmetricPPO:
        model = SymmetricPPO(
            "MlpPolicy",
            TriangleVecEnv(4, scenario="triangle", seed=0),
            symmetries=load("triangle"),
            loss=ASL(fit=fit),
            n_steps=32,
            batch_size=64,
            n_epochs=2,
            seed=0,
            device="cpu",
        )
        return model.learn(4 * 32)

    plain = trained(None)
    still = trained(PairwiseFit(form=DEAD_BAND, update_weight=lambda _: 0.0, function_weight=lambda _: 1.0))
    moving = trained(PairwiseFit(form=DEAD_BAND, update_weight=lambda _: 1.0, function_weight=lambda _: 1.0))
    for name, values in plain.policy.state_dict().items():
        torch.testing.assert_close(values, still.policy.state_dict()[name], rtol=1e-5, atol=1e-6)
    change = max(
        float((values - moving.policy.state_dict()[name]).abs().max())
        for name, values in plain.policy.state_dict().items()
    )
    assert change > 2e-5


def test_the_fast_path_bends_as_the_generic_one() -> None:
    from ambidex.envs.triangle.robot import TriangleVecEnv

    quick, slow = (
        SymmetricPPO(
            "MlpPolicy",
            TriangleVecEnv(4, scenario="triangle", seed=0),
            symmetries=load("triangle"),
            loss=ASL(fit=PairwiseFit(form=DEAD_BAND, update_weight=lambda _: 1.0)),
            fast=fast,
            n_steps=32,
            batch_size=64,
            n_epochs=2,
            seed=0,
            device="cpu",
        ).learn(4 * 32)
        for fast in (True, False)
    )
    for name, values in slow.policy.state_dict().items():
        torch.testing.assert_close(quick.policy.state_dict()[name], values, rtol=1e-5, atol=1e-6)
