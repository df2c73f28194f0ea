"""heavybandit: an executable reading of

    Xue, Wang, Wang, Zhang. Nearly Optimal Regret for Stochastic Linear Bandits with Heavy-Tailed
    Payoffs. IJCAI 2020.

`paper` is the paper transcribed, `engine` the same policies compiled; `theory` has every bound,
`noise` and `instances` the worlds, `simulate` brings a policy and a world together.

A name is imported when it is first asked for, so that `import heavybandit.theory` needs no compiler
and `heavybandit --help` no NumPy.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import instances as instances
    from . import later as later
    from . import noise as noise
    from . import paper as paper
    from . import theory as theory
    from .counterfactual import Counterfactual as Counterfactual
    from .counterfactual import counterfactual as counterfactual
    from .counterfactual import counterfactuals as counterfactuals
    from .engine import *  # noqa: F403
    from .engine.leap import leap as leap
    from .instances import fixed_arms as fixed_arms
    from .instances import lower_bound as lower_bound
    from .instances import misaligned as misaligned
    from .instances import section6 as section6
    from .instances import sphere_arms as sphere_arms
    from .instances import symmetric as symmetric
    from .own.checking import check_noise as check_noise
    from .own.checking import check_policy as check_policy
    from .own.checking import check_world as check_world
    from .own.replay import Replay as Replay
    from .own.replay import replay as replay
    from .simulate import Run as Run
    from .simulate import simulate as simulate
    from .simulate import simulate_all as simulate_all

    __all__: list[str]

__version__ = "0.1.0"

_MODULES = ("instances", "later", "noise", "paper", "theory")
_HOMES = {  # public name → the module that defines it; policies are found in `engine`
    **dict.fromkeys(
        ("fixed_arms", "lower_bound", "misaligned", "section6", "sphere_arms", "symmetric"),
        "instances",
    ),
    **dict.fromkeys(("check_noise", "check_policy", "check_world"), "own.checking"),
    **dict.fromkeys(("Counterfactual", "counterfactual", "counterfactuals"), "counterfactual"),
    "leap": "engine.leap",
    **dict.fromkeys(("Replay", "replay"), "own.replay"),
    **dict.fromkeys(("Run", "simulate", "simulate_all"), "simulate"),
}


def _policies() -> dict[str, Any]:
    """The compiled policies by name: one that is added to `engine` is public at once."""
    found: dict[str, Any] = import_module(".engine", __name__).POLICIES
    return found


def _public(name: str) -> Any:
    """What stands behind a public name, imported now."""
    found: Any
    if name == "__all__":
        found = sorted((*_MODULES, *_HOMES, *_policies()), key=lambda n: (not n.isupper(), n))
    elif name in _MODULES:
        found = import_module(f".{name}", __name__)
    elif name in _HOMES:
        found = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    elif name[:1].isupper() and name in _policies():  # only classes are worth the engine's import
        found = _policies()[name]
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_public("__all__")})


if not TYPE_CHECKING:  # type checkers read the imports above, and so still see a misspelt name
    __getattr__ = _public


class _Package(ModuleType):
    """`heavybandit.simulate` and `counterfactual` are functions, though modules have these names.

    Whenever a submodule is imported, Python stores it in the package under its name. This keeps the
    functions there, in whatever order things are imported.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("simulate", "counterfactual") and isinstance(value, ModuleType):
            value = getattr(value, name)
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
