"""What one run is: every value that decides its result, checked, with unknown keys refused."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from ambidex.common.escaping import quoted
from ambidex.common.numerals import whole
from ambidex.common.words import suggestion
from ambidex.experiment.configure import limits
from ambidex.experiment.configure.algorithms import ALGORITHMS, PPO
from ambidex.experiment.configure.expected import expected
from ambidex.experiment.configure.fits import FITS, PAPERS, Form
from ambidex.experiment.configure.methods import BASELINE, DEFAULT, METHODS, method_called
from ambidex.experiment.configure.stepping import Stepping
from ambidex.symmetry.files.descriptions import catalog_name

Preset = Literal["ambidex", "paper"]


USUAL_ITERATION = 4096
"""The training steps of an iteration in the paper, and in presets for a single robot."""
AUTOMATIC = r"^auto(_[0-9.]+)?$"


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _numbers(cls, values: Any) -> Any:
        """YAML reads ``1e6`` as a text, and pydantic ``true`` as 1."""
        if not isinstance(values, Mapping):
            return values
        for name, value in values.items():
            if isinstance(value, bool) and name in cls.model_fields:
                field = cls.model_fields[name]
                if not {bool, Any} & {field.annotation, *get_args(field.annotation)}:
                    raise ValueError(f"{name} is {expected(field)}, not {str(value).lower()}")
        counts = {name for name, field in cls.model_fields.items() if field.annotation in (int, int | None)}
        texts = {name: value for name, value in values.items() if name in counts and isinstance(value, str)}
        read = {name: whole(text) for name, text in texts.items()}
        return {**values, **{name: value for name, value in read.items() if value is not None}}


class Hyperparameters(_Strict):
    """The algorithms' settings under Stable-Baselines3's names, and those of the symmetry losses.

    The defaults are the paper's common table and its weights for the unperturbed ant (A1.1, ASL); of what PPO
    does not take they are Stable-Baselines3's. Which algorithm takes what stands in `ALGORITHMS`.
    """

    n_steps: int = Field(
        default=4096, gt=0, le=limits.STEPS, description="steps of each environment in an iteration"
    )
    num_envs: int = Field(
        default=1, gt=0, le=limits.ENVIRONMENTS, description="environments stepped together"
    )
    batch_size: int = Field(default=64, gt=1, description="states in a minibatch")
    n_epochs: int = Field(default=20, gt=0, description="passes over each batch")
    learning_rate: float = Field(default=3e-5, gt=0)
    gamma: float = Field(default=0.99, ge=0, le=1)
    gae_lambda: float = Field(default=0.9, ge=0, le=1)
    clip_range: float = Field(default=0.4, gt=0)
    ent_coef: Annotated[float, Field(ge=0)] | Annotated[str, Field(pattern=AUTOMATIC)] = Field(
        default=0.0, description="of the entropy; auto, or auto_0.1 to start there: learned (SAC)"
    )
    vf_coef: float = Field(default=0.5, ge=0)
    max_grad_norm: float = Field(default=0.5, gt=0)
    normalize_advantage: bool = True
    use_rms_prop: bool = Field(default=True, description="RMSprop instead of Adam (A2C)")
    rms_prop_eps: float = Field(default=1e-5, gt=0, description="of RMSprop (A2C)")
    fit_states: int = Field(default=2048, ge=0, description="that fits learn from at once (A2C)")
    target_kl: float = Field(default=0.01, gt=0, description="how far an update may go (TRPO)")
    cg_max_steps: int = Field(default=15, gt=0, description="of the conjugate gradients (TRPO)")
    cg_damping: float = Field(default=0.1, ge=0, description="added to the curvature (TRPO)")
    line_search_shrinking_factor: float = Field(default=0.8, gt=0, lt=1, description="per try (TRPO)")
    line_search_max_iter: int = Field(default=10, gt=0, description="tries (TRPO)")
    n_critic_updates: int = Field(default=10, gt=0, description="passes of the critic (TRPO)")
    sub_sampling_factor: int = Field(default=1, gt=0, description="every so many states (TRPO)")
    buffer_size: int = Field(default=1_000_000, gt=0, description="transitions in the replay (SAC)")
    learning_starts: int = Field(default=100, ge=0, description="random steps before learning (SAC)")
    tau: float = Field(default=0.005, gt=0, le=1, description="of the critics' targets (SAC)")
    train_freq: int = Field(default=1, gt=0, description="steps of each environment in a round (SAC)")
    gradient_steps: int = Field(default=1, ge=-1, description="in a round; -1: one per transition (SAC)")
    fit_interval: int = Field(default=1000, gt=0, description="new transitions between two fits (SAC)")
    symmetry_clip_range: float | None = Field(
        default=None, gt=0, description="in place of a clip range (not PPO); null: the algorithm's own"
    )
    net_arch: Annotated[tuple[int, ...], AfterValidator(limits.layers)] = Field(
        default=(256, 256), description="hidden layers, of actor and critic each"
    )
    activation: Literal["relu", "tanh", "elu"] = "relu"
    log_std_init: float = Field(
        default=-1.0, description="log of the std at the start; less where actions have ranges below 1"
    )
    ortho_init: bool = False

    policy_weight: float = Field(default=0.05, ge=0, description="w_pi of the method's policy loss")
    value_weight: float = Field(default=0.5, ge=0, description="w_V of the value symmetry loss")
    max_shift: float = Field(default=0.3, gt=0, description="k_s (ASL)")
    dead_zone_reflections: float = Field(default=0.1, ge=0, description="k_d of reflections (ASL)")
    dead_zone_rotations: float = Field(default=0.0, ge=0, description="k_d of rotations (ASL)")
    value_gate: float | None = Field(default=1.5, gt=0, description="k_v (ASL); null: off")
    history: int = Field(default=10, gt=0, description="k_t in batches (ASL)")
    denominator: Literal["sample", "image"] = Field(
        default="sample", description="of the ratio: the probability of the sample or its image (augment)"
    )
    form: Form | None = Field(default=None, description="the fitted form (ASL); null: no fit")
    fit: Annotated[str, AfterValidator(lambda name: FITS.get(name).name)] = Field(
        default=PAPERS.name,
        description="the paper's fit, or a scale and offset per actuator from policy or transitions (ASL)",
    )
    update_weight: float | None = Field(
        default=None, gt=0, le=1, description="w_U of a sure update of the fit (ASL); null: the fit's own"
    )
    fit_memory: float | None = Field(
        default=None,
        gt=0,
        description="transitions until older ones count e times less (fit from them); null: the fit's own",
    )
    actuators: Annotated[str | None, AfterValidator(lambda name: name and FITS.get(name).name)] = Field(
        default=None, description="the fit of the actuators behind the policy; null: there are none"
    )
    relax: Literal["biases", "weights"] | None = Field(
        default=None, description="what may lead away from the symmetry (equivariant); null: nothing"
    )
    relax_from: int = Field(default=0, ge=0, description="the training steps after which it may")
    relax_penalty: float = Field(default=0.0, ge=0, description="of the squares of what is relaxed")
    frame_by: str | None = Field(
        default="goal", description="the field that chooses the canonical state (relabel); null: all of it"
    )
    frame_margin: float = Field(
        default=0.1, ge=0, lt=1, description="how much better another frame must be (relabel)"
    )
    desired_kl: float | None = Field(
        default=None, gt=0, description="the learning rate follows the KL divergence; null: it is constant"
    )
    std_floor: float | None = Field(
        default=None,
        gt=0,
        description="the least std of the noise, less where actions have ranges below 1; null: none",
    )
    symmetry_samples: int | None = Field(default=None, gt=0, description="drawn per state; null: all")
    normalize: bool | Literal["rewards"] = Field(
        default=False,
        description="running normalisation: of rewards, or of observations too (true), symmetrically",
    )
    fast: bool | None = Field(default=None, description="the hand-written update; null: where it applies")


class RunConfig(_Strict):
    """One run. Two runs of the same config on the same machine are equal to the bit."""

    scenario: str | None = Field(default=None, description="a scenario's name (`ambidex scenarios`)")
    env: str | None = Field(default=None, description="a Gymnasium id; with a scenario, another robot for it")
    env_args: dict[str, Any] = Field(default={}, description="keyword arguments of the environment")
    stepping: Stepping = Field(
        default="here", description="one after the other, each in a process of its own, or as one array"
    )
    symmetry: str | None = Field(default=None, description="a file or catalog name; null: the scenario's")
    algorithm: Annotated[str, AfterValidator(lambda name: ALGORITHMS.get(name).name)] = PPO.name
    method: Annotated[str, AfterValidator(lambda name: method_called(name).name)] = DEFAULT.name
    preset: Preset | None = Field(
        default=None, description="what the values were before they were changed; null: the scenario's own"
    )
    seed: int = Field(default=0, ge=0)
    steps: int = Field(default=4_000_000, gt=0)
    rounds: int = Field(default=1, gt=0, description="roll-outs, each with its update, in an iteration")
    evaluation_every: int = Field(default=15, gt=0, description="iterations between evaluations")
    evaluation_episodes: int = Field(default=16, gt=0, le=limits.EPISODES)
    metrics_every: int = Field(default=5, gt=0, description="iterations between symmetry metrics")
    checkpoint_seconds: float = Field(default=20.0, ge=0, description="checkpoints are this far apart")
    stop_collapsed: bool = Field(default=True, description="end a run that has collapsed")
    hyperparameters: Hyperparameters = Hyperparameters()

    @property
    def scenario_file(self) -> Path | None:
        """The file of a scenario that is not one of the package's."""
        is_file = self.scenario is not None and self.scenario.endswith((".yaml", ".yml"))
        return Path(str(self.scenario)) if is_file else None

    @property
    def title(self) -> str:
        """What a person calls the run."""
        return f"{self._robot} {self.way} seed {self.seed}"

    @property
    def directory(self) -> Path:
        """Where the run stands among others: ``scenario/way/seed-n``."""
        return Path(self._robot.replace("/", "-"), self.way, f"seed-{self.seed}")

    @property
    def way(self) -> str:
        """What the run is called among others of its scenario: its method, and its algorithm if not PPO."""
        return ALGORITHMS.get(self.algorithm).way(self.method)

    @property
    def iteration_steps(self) -> int:
        """Training steps in an iteration."""
        return self.rounds * ALGORITHMS.get(self.algorithm).round_steps(self.hyperparameters)

    def scaled_iterations(self, iterations: int) -> int:
        """These iterations, or as many as have their steps where an iteration is longer than usual."""
        return max(1, min(iterations, round(iterations * USUAL_ITERATION / self.iteration_steps)))

    @property
    def iterations(self) -> int:
        """The iterations that reach the training steps; all of them are whole."""
        return -(-self.steps // self.iteration_steps)

    @property
    def trained_steps(self) -> int:
        """The training steps after the last iteration."""
        return self.iterations * self.iteration_steps

    @property
    def environment_id(self) -> str:
        """The Gymnasium id of the robot."""
        if self.scenario is None:
            return str(self.env)
        from ambidex.envs import scenarios

        return self.env or scenarios.get(self.scenario).env

    @property
    def _robot(self) -> str:
        file = self.scenario_file
        return file.stem if file is not None else str(self.scenario or self.env)

    @model_validator(mode="after")
    def _one_environment(self) -> RunConfig:
        if self.scenario is None and self.env is None:
            raise ValueError("give a scenario or an env (a Gymnasium id)")
        ALGORITHMS.get(self.algorithm).refuse_method(METHODS.get(self.method))
        learned = isinstance(self.hyperparameters.ent_coef, str)
        if learned and not ALGORITHMS.get(self.algorithm).tunes_entropy:
            raise ValueError(f"algorithm {self.algorithm!r} does not learn its ent_coef; give a number")
        if self.scenario is None and self.symmetry is None and METHODS.get(self.method).needs_symmetries:
            catalogued = catalog_name(str(self.env))
            ready = "" if catalogued is None else f"--symmetry {catalogued} is in the catalog; "
            raise ValueError(
                f"method {self.method!r} on env {self.env!r} needs a symmetry file; {ready}"
                f"--method {BASELINE.name} needs none"
            )
        taken = set(ALGORITHMS.get(self.algorithm).hyperparameters)
        if {"n_steps", "batch_size"} <= taken and self.iteration_steps // self.rounds < 2:
            raise ValueError(
                f"algorithm {self.algorithm!r} compares the advantages of a roll-out, which takes two states "
                "at least; n_steps times num_envs is 1"
            )
        if self.hyperparameters.normalize and "n_steps" not in ALGORITHMS.get(self.algorithm).hyperparameters:
            raise ValueError(
                f"algorithm {self.algorithm!r} has no normalisation in runs yet; leave normalize out, or "
                "put VecNormalize around the environment in Python"
            )
        if self.hyperparameters.actuators is not None and METHODS.get(self.method).wrap is not None:
            raise ValueError(
                f"method {self.method!r} hands an action now to one actuator, now to another, so that no "
                "scale behind the policy is that of a motor; leave actuators out"
            )
        return self


_Model = TypeVar("_Model", bound=BaseModel)


def parse(model: type[_Model], values: Mapping[str, Any]) -> _Model:
    """The checked model; a ValueError of one line names each wrong key and, if unknown, the nearest one."""
    check_keys(values, set(model.model_fields), model.__name__)
    nested = values.get("hyperparameters")
    if isinstance(nested, Mapping):
        check_keys(nested, set(Hyperparameters.model_fields), "hyperparameters")
    try:
        return model.model_validate(dict(values))
    except ValidationError as error:
        told = dict.fromkeys(_describe(model, detail) for detail in error.errors())
        raise ValueError("; ".join(told)) from None


def merge(base: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """``base`` with ``overrides`` on top; a hyperparameter stands at the top level or in its section."""
    section = set(Hyperparameters.model_fields)
    top = set(RunConfig.model_fields)
    nested = overrides.get("hyperparameters") or {}
    if not isinstance(nested, Mapping):
        raise ValueError(f"hyperparameters is a mapping of names to values, got {quoted(nested)}")
    flat = {key: value for key, value in overrides.items() if key != "hyperparameters"}
    check_keys(flat, section | top, "the configuration")
    check_keys(nested, section, "hyperparameters")
    hyperparameters = {**base.get("hyperparameters", {}), **nested}
    hyperparameters |= {key: value for key, value in flat.items() if key in section}
    merged = {**base, **{key: value for key, value in flat.items() if key in top}}
    return {**merged, "hyperparameters": hyperparameters}


def check_keys(values: Mapping[str, Any], known: set[str], where: str) -> None:
    """Refuse a key that does not exist, with the nearest that does."""
    for key in values:
        if key not in known:
            hint = suggestion(key, sorted(known), likeness=0.5) or f"; there are {', '.join(sorted(known))}"
            raise ValueError(f"unknown key {quoted(key)} in {where}{hint}")


def _describe(model: type[BaseModel], detail: Any) -> str:
    """What is wrong with one value, once for all the kinds that it might have been."""
    place = [part for part in detail["loc"] if part != "hyperparameters"]
    if detail["type"] == "value_error":
        reason = str(detail["msg"]).removeprefix("Value error, ")
        return f"{place[0]}: {reason}" if place else reason
    place = place or list(detail["loc"])
    fields = {**Hyperparameters.model_fields, **model.model_fields}
    return f"{place[0]} is {expected(fields[place[0]])}, not {quoted(detail['input'])}"
