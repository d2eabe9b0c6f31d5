"""Whether the actuators of a robot can be fitted, which its description decides."""

from __future__ import annotations

from functools import cache

from ambidex.experiment.configure.fits import FITS

MOST = 500e6
"""The bytes of a fit's sums above which they are no small part of a run: in memory, checkpoints and time."""


@cache
def obstacle(fit: str, source: str) -> str | None:
    """Why this fit cannot stand behind a policy of the robot; None where it can.

    A description that cannot be read is no reason: whoever trains with it is told so.

    :param fit: the name of one of `FITS`
    :param source: the file or catalog name of the robot's symmetries
    """
    from ambidex import symmetry
    from ambidex.actuators.identification import takes_targets
    from ambidex.learn.fits.transition import TransitionState
    from ambidex.learn.update import actuators

    try:
        group = symmetry.load(source)
    except (ValueError, OSError):
        return None
    try:
        chosen = FITS.get(fit).make("mx", None)
        actuators.start(chosen, group)
        state = chosen.start(group)
    except ValueError as error:
        return str(error)
    if takes_targets(group):
        return (
            "its commands are targets of a controller, whose feedback stays as weak as the motor: a scaled "
            "target moves where a joint settles (--set actuators=transition fits them all the same)"
        )
    if isinstance(state, TransitionState) and state.size > MOST:
        return (
            f"its limbs have so many joints that the sums of the regression are {state.size / 1e9:.1f} GB, "
            "which would slow training down (--set actuators=transition fits them all the same)"
        )
    return None
