"""Ways to draft, one file each. A policy knows heads and candidates, and nothing of models, verification or text."""

from __future__ import annotations

import copy
import importlib
import os
import sys

from ..errors import UserError
from .policy import Bounds, Policy, brief

SHIPPED = ("eagle2", "chain", "static", "cartesian", "sequoia", "optimal", "plain")  # in the page's order


def find(policy: str | Policy) -> Policy:
    """A policy by name: one of ours, or `module:object` of somebody's own file, which is imported: also one that lies in the
    current folder. The object may be the policy or its class. Raises UserError, one sentence."""
    if isinstance(policy, Policy):
        return policy
    if not isinstance(policy, str):
        raise UserError(f"policy is {brief(policy)}; give a name, like {SHIPPED[0]}, or a policy of your own.")
    if policy in SHIPPED:
        return importlib.import_module(f".{policy}", __name__).POLICY
    module, colon, name = policy.partition(":")
    if not colon:
        raise UserError(f"There is no policy {brief(policy)}; there is {', '.join(SHIPPED)}, or module:object of your own.")
    return _own(policy, module, name)


def _own(policy: str, module: str, name: str) -> Policy:
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    try:
        found = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
        found = found() if isinstance(found, type) else found
    except Exception as error:  # whatever a stranger's file does when it is read
        said = " ".join(f"{type(error).__name__}: {error}".split())
        raise UserError(f"The policy {brief(policy)} cannot be loaded ({said}); give module:object, where the module can be "
                        "imported from here.") from error
    if not isinstance(found, Policy):
        raise UserError(f"{policy} is no policy but {brief(found)}; make it a subclass of core.policies.policy.Policy.")
    found = copy.copy(found)  # it may be another's too, and ours
    found.name = policy  # in whatever it is recorded
    return found


class Recorded(Policy):
    """Stands for somebody's own policy in a trace: a file is never a reason to import anything. Takes the knobs as they
    are; it cannot grow."""

    exact = None

    def __init__(self, name: str):
        self.name = name

    def settings(self, given):
        for name, value in given.items():
            if not (name.isidentifier() and len(name) <= 40 and _plain(value) and len(repr(value)) <= 1000):
                raise UserError(f"The setting {brief(name)} of the policy {brief(self.name)} is {brief(value)}; give a number, a "
                                "short text or a list of numbers, or of lists of them.")
        return dict(given)

    def bounds(self, knobs):
        return Bounds(0, 0, 0, 0, 0, 0)  # nobody knows

    def grow(self, drafter, token_ids, features, config):
        raise UserError(f"The policy {brief(self.name)} is known from a recorded run only; load it by its name to decode.")


def _plain(value: object, lists: int = 2) -> bool:
    """Is it a number or a text, or a list of numbers, or of lists of numbers?"""
    if isinstance(value, list):
        return lists > 0 and all(not isinstance(part, str) and _plain(part, lists - 1) for part in value)
    return isinstance(value, int | float | str)


def recorded(name: object) -> Policy:
    """The policy that a trace names, without importing anything of it. Raises UserError."""
    if isinstance(name, str) and ":" in name and len(name) <= 200:
        return Recorded(name)
    return find(name)
