"""Attributes of communicators and request objects, by the keywords of operations."""
from __future__ import annotations

from typing import Any, Callable

from mpi4py import MPI

from . import _core

_SWITCHES = ("blocking", "remote_completion", "ordering", "atomicity")
_SIDES = {"origin_communicatable": 1, "target_communicatable": 2}
_NAMES = (*_SWITCHES, *_SIDES, "op", "notify")


def _key(keyword: str) -> str:
    if keyword in _SIDES:
        return "MPIX_RMA_KEY_COMMUNICATABLE"
    if keyword == "op":
        return "MPIX_RMA_KEY_ACCUMULATE_OP"
    return "MPIX_RMA_KEY_" + keyword.upper()


def set_each(setter: Callable[[Any, str, Any], None], getter: Callable[[Any, str], Any], owner: Any,
             attributes: dict[str, Any]) -> None:
    """Sets the attributes of `owner`, and keeps the others. TypeError for an unknown keyword, before any is set."""
    for keyword in attributes:
        if keyword not in _NAMES:
            raise TypeError(f"'{keyword}' is none of the attributes {', '.join(_NAMES)}")
    if any(keyword in _SIDES for keyword in attributes):  # one key has both
        sides = getter(owner, _key("origin_communicatable")) or 0
        chosen = (bit for keyword, bit in _SIDES.items() if attributes.get(keyword, sides & bit))
        setter(owner, _key("origin_communicatable"), sum(chosen))
    for keyword, value in attributes.items():
        if keyword not in _SIDES:
            setter(owner, _key(keyword), int(value) if keyword in (*_SWITCHES, "notify") else value)


def get_each(getter: Callable[[Any, str], Any], owner: Any) -> dict[str, Any]:
    """The attributes that are set, but for the operation, whose handle has no name."""
    found: dict[str, Any] = {}
    for keyword in (*_SWITCHES, "notify"):
        value = getter(owner, _key(keyword))
        if value is not None:
            found[keyword] = value if keyword == "notify" else bool(value)
    sides = getter(owner, _key("origin_communicatable"))
    if sides is not None:
        found.update({keyword: bool(sides & bit) for keyword, bit in _SIDES.items()})
    return found


def set_attributes(comm: MPI.Comm, **attributes: Any) -> None:
    """Sets attributes that all later operations through a communicator have. Duplicates inherit all but `notify`."""
    set_each(_core.set_comm_attribute, _core.get_comm_attribute, comm, attributes)


def get_attributes(comm: MPI.Comm) -> dict[str, Any]:
    """The attributes of a communicator, by keyword, but for `op`."""
    return get_each(_core.get_comm_attribute, comm)


def delete_attributes(comm: MPI.Comm, *keywords: str) -> None:
    """Removes attributes from a communicator: all of them if no keyword is given; those that it does not have stay
    unset. The two about communicatable memory are removed together."""
    keys = {_key(keyword): None for keyword in keywords or _NAMES}
    for key in keys:
        if _core.get_comm_attribute(comm, key) is not None:
            _core.delete_comm_attribute(comm, key)
