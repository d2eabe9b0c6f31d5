"""Couplings on one side only, on both, and across, in a model that is symmetric otherwise."""

from __future__ import annotations

import json

import mujoco
import pytest

from ambidex.derivation.derive import derive

LEG = """<body name="{0}" pos="0 {1} 0"><joint name="{0}_hip" axis="1 0 0" {2}/>
    <geom type="capsule" fromto="0 0 0 0 0 -.5" size=".05"/><site name="{0}_site" pos="0 0 -.2"/>
    <body name="{0}_shin" pos="0 0 -.5"><joint name="{0}_knee" axis="0 1 0" {2}/>
    <geom type="capsule" fromto="0 0 0 0 0 -.5" size=".05"/></body></body>"""


def model(couplings: str = "", left: str = "", right: str = "") -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(
        f"""<mujoco><worldbody><body name="hull" pos="0 0 1"><freejoint/><geom type="box" size=".2 .1 .1"/>
        {LEG.format("left", 0.3, left)}{LEG.format("right", -0.3, right)}</body></worldbody>
        {couplings}</mujoco>"""
    )


def sentences(couplings: str = "", **joints: str) -> list[str]:
    derived = derive(model(couplings, **joints), plane="xz")
    assert derived.holds
    return [str(item) for item in derived.asymmetries]


def equality(*constraints: str) -> str:
    return f"<equality>{''.join(constraints)}</equality>"


def coupled(first: str, second: str, coefficients: str) -> str:
    return f'<joint joint1="{first}" joint2="{second}" polycoef="{coefficients}"/>'


def spring(side: str, stiffness: float, coefficients: tuple[float, float] = (1, 1)) -> str:
    parts = zip((f"{side}_hip", f"{side}_knee"), coefficients, strict=True)
    joints = "".join(f'<joint joint="{joint}" coef="{share}"/>' for joint, share in parts)
    return f'<fixed name="{side}_spring" stiffness="{stiffness}" springlength=".1">{joints}</fixed>'


def test_torque_limits_of_joints_are_compared() -> None:
    weak, strong = (f'actuatorfrcrange="-{torque} {torque}"' for torque in (1, 50))
    assert sentences(left=strong, right=strong) == []
    found = sentences(left=weak, right=strong)
    assert "left_knee has the torque range [-1, 1], right_knee [-50, 50]" in found
    assert len(found) == 2  # and the hips
    assert "left_knee has the torque range [-1, 1], right_knee has no limits" in sentences(left=weak)


@pytest.mark.parametrize(
    ("couplings", "expected"),
    [
        # Under xz a hip changes its sign, a knee keeps it: hip = 2 knee + 3 knee² becomes -2 and -3.
        (
            equality(
                coupled("left_hip", "left_knee", "0 2 3 0 0"),
                coupled("right_hip", "right_knee", "0 -2 -3 0 0"),
            ),
            [],
        ),
        # knee = 2 hip + 3 hip² becomes -2, +3
        (
            equality(
                coupled("left_knee", "left_hip", "0 2 3 0 0"),
                coupled("right_knee", "right_hip", "0 -2 3 0 0"),
            ),
            [],
        ),
        (
            equality(
                coupled("left_hip", "left_knee", "0 2 0 0 0"), coupled("right_hip", "right_knee", "0 2 0 0 0")
            ),
            [
                "the image of the coupling of left_hip and left_knee has the coefficients [0, -2, 0, 0, 0], "
                "the coupling of right_hip and right_knee [0, 2, 0, 0, 0]"
            ],
        ),
        (equality(coupled("left_knee", "right_knee", "0 1 0 0 0")), []),  # its own image, the other way round
        (
            equality(coupled("left_hip", "left_knee", "0 1 0 0 0")),
            ["left_hip and left_knee have a coupling, right_hip and right_knee have none"],
        ),
        (
            equality('<joint joint1="left_knee"/>'),
            ["left_knee has a coupling, right_knee none"],
        ),
        (
            equality('<weld body1="left_shin" body2="hull"/>'),
            ["hull and left_shin have a constraint, hull and right_shin have none"],
        ),
        (
            equality(
                *(f'<connect body1="{s}_shin" body2="hull" anchor="0 0 0"/>' for s in ("left", "right"))
            ),
            [],
        ),
        (
            f"<tendon>{spring('left', 50)}</tendon>",
            ["left_hip and left_knee have a tendon, right_hip and right_knee have none"],
        ),
        (
            f"<tendon>{spring('left', 50, (1, 1))}{spring('right', 25, (-1, 1))}</tendon>",
            ["left_spring has 2 times the stiffness of right_spring"],
        ),
        (
            f"<tendon>{spring('left', 50, (1, 1))}{spring('right', 50, (-1, 2))}</tendon>",
            ["the image of left_spring has the coefficients [-1, 1], right_spring [-1, 2]"],
        ),
        (
            '<contact><exclude body1="left_shin" body2="hull"/></contact>',
            ["hull and left_shin are excluded from contact, hull and right_shin are not"],
        ),
        ('<contact><exclude body1="left_shin" body2="right_shin"/></contact>', []),
    ],
)
def test_what_couples_one_side_only_is_named(couplings: str, expected: list[str]) -> None:
    assert sentences(couplings) == expected


def test_what_was_not_looked_at_is_listed_where_the_model_has_it() -> None:
    assert "nothing asymmetric in the model" in str(derive(model(), plane="xz"))
    derived = derive(
        model(
            """<tendon><spatial stiffness="9"><site site="left_site"/><site site="right_site"/></spatial>
            </tendon><equality><weld body1="left_shin" body2="right_shin"/></equality>"""
        ),
        plane="xz",
    )
    expected = "the places of equality constraints between bodies (1), spatial tendons (1)"
    assert str(derived).endswith(f"nothing asymmetric in what was compared\nnot compared: {expected}")
    assert json.loads(json.dumps(derived.as_dict()))["not_compared"] == expected.split(", ")
