"""Data classes whose definition costs a tenth of what the standard library's does.

`dataclasses.dataclass` looks at all annotations and writes and compiles up to six functions for each class
while its module is imported: half of the time that `pse check` took.  The classes made here are data classes
as well (`fields`, `replace` and `asdict` take them), but all this is done when it is first needed: in most
processes, for most classes never.  A subclass must be made by the same decorator.
"""

import dataclasses
from collections.abc import Callable, Sequence
from operator import attrgetter
from threading import RLock
from types import FunctionType
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass", "replace"]

Field = dataclasses.Field[Any]
_QUICK: tuple[dict[str, bool], ...] = ({}, {"frozen": True})
_PROCESSING = RLock()

if TYPE_CHECKING:
    from dataclasses import dataclass, replace
else:

    def dataclass(cls: type | None = None, /, **options: bool) -> Any:
        """Make a data class: `dataclasses.dataclass`, quicker without options or with ``frozen=True`` alone.

        Parameters
        ----------
        cls : type, optional
            The class with annotated fields; without it, a decorator is returned.
        **options : bool
            Those of `dataclasses.dataclass`.

        Returns
        -------
        type or callable
            The class, or a decorator that returns it.

        Raises
        ------
        TypeError
            A field without a default follows one with a default: found when the class is first used.

        Examples
        --------
        >>> @dataclass(frozen=True)
        ... class Point:
        ...     "A place."
        ...     x: int
        ...     y: int = 0
        >>> Point(1) == Point(1, 0), Point(2)
        (True, Point(x=2, y=0))
        """
        if options not in _QUICK:
            return dataclasses.dataclass(cls, **options)
        make = _freeze if options else _make
        return make if cls is None else make(cls)

    def replace(record: Any, /, **changes: object) -> Any:
        """Copy an object of a data class with other values in some fields, sooner than `dataclasses` does.

        Parameters
        ----------
        record : object
            An object whose fields are all given to `__init__`, and whose class has no `__post_init__`.
        **changes : object
            The other values, by field.

        Returns
        -------
        object
            The copy.

        Raises
        ------
        TypeError
            The class has no such field.

        Examples
        --------
        >>> @dataclass(frozen=True)
        ... class Point:
        ...     "A place."
        ...     x: int
        ...     y: int = 0
        >>> replace(Point(1), y=2)
        Point(x=1, y=2)
        """
        cls = record.__class__
        fields = cls.__dataclass_fields__
        if not changes.keys() <= fields.keys():
            raise TypeError(f"{cls.__name__} has no field {min(changes.keys() - fields.keys())}")
        made = object.__new__(cls)
        vars(made).update(vars(record), **changes)
        return made


def _make(cls: type) -> type:
    return _add(cls, {**_METHODS, **_WORDS}, {"__hash__": None})


def _freeze(cls: type) -> type:
    return _add(cls, {**_METHODS, **_FROZEN_METHODS, **_WORDS}, {})


def _add(cls: type, later: dict[str, Callable[[Any], Any]], at_once: dict[str, None]) -> type:
    own = dict(vars(cls))
    for name, value in [*at_once.items(), *((name, _Later(cls, name, make)) for name, make in later.items())]:
        if own.get(name) is None:  # A class that has __eq__ has None for __hash__.
            setattr(cls, name, value)
    if "__init__" in own:  # Nothing else would take the `field(…)` out of its attributes.
        _process(cls)
    return cls


class _Later:
    """Stands for an attribute of a data class until it is looked up, and puts what it makes in its place."""

    def __init__(self, owner: Any, name: str, make: Callable[[Any], Any]) -> None:
        self._owner, self._name, self._make = owner, name, make

    def __get__(self, instance: object, _: object = None) -> Any:
        made = self._make(self._owner)
        setattr(self._owner, self._name, made)
        return made if instance is None or not isinstance(made, FunctionType) else made.__get__(instance)


def _process(cls: Any) -> None:
    """Make a data class of it, once."""
    with _PROCESSING:
        if isinstance(vars(cls)["__dataclass_fields__"], _Later):
            dataclasses.dataclass(init=False, repr=False, eq=False, match_args=False)(cls)
            _check_order(cls)


def _fields_of(cls: Any) -> dict[str, Field]:
    _process(cls)
    found: dict[str, Field] = vars(cls)["__dataclass_fields__"]
    return found


def _parameters_of(cls: Any) -> Any:
    _process(cls)
    return vars(cls)["__dataclass_params__"]


def _match_args_of(cls: Any) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(cls) if field.init and not field.kw_only)


def _eq_of(cls: Any) -> Any:
    compared = _getter([field.name for field in dataclasses.fields(cls) if field.compare])

    def __eq__(self: Any, other: object) -> Any:
        return compared(self) == compared(other) if other.__class__ is self.__class__ else NotImplemented

    return __eq__


def _repr_of(cls: Any) -> Any:
    printed = [field.name for field in dataclasses.fields(cls) if field.repr]

    def __repr__(self: Any) -> str:
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in printed)
        return f"{self.__class__.__qualname__}({values})"

    return __repr__


def _hash_of(cls: Any) -> Any:
    fields = dataclasses.fields(cls)
    hashed = _getter(
        [field.name for field in fields if (field.compare if field.hash is None else field.hash)]
    )

    def __hash__(self: Any) -> int:
        return hash(hashed(self))

    return __hash__


def _setattr_of(cls: Any) -> Any:
    names = {field.name for field in dataclasses.fields(cls)}

    def __setattr__(self: Any, name: str, value: object) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    return __setattr__


def _delattr_of(cls: Any) -> Any:
    names = {field.name for field in dataclasses.fields(cls)}

    def __delattr__(self: Any, name: str) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    return __delattr__


def _check_order(cls: Any) -> None:
    by_default = None
    for field in dataclasses.fields(cls):
        if not field.init or field.kw_only:
            continue
        if _has_default(field):
            by_default = field.name
        elif by_default is not None:
            raise TypeError(f"the field {field.name} without a default follows {by_default}, which has one")


def _has_default(field: Field) -> bool:
    return field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING


def _getter(names: list[str]) -> Callable[[Any], Any]:
    return attrgetter(*names) if names else lambda _: ()


class _LeftOut:
    """Stands for an argument whose default is made for each object."""

    def __repr__(self) -> str:
        return "<factory>"


_LEFT_OUT = _LeftOut()


def _compile_init(cls: Any) -> Any:
    fields, scope = dataclasses.fields(cls), {"_set": object.__setattr__, "_left_out": _LEFT_OUT}
    form = "self.{} = {}" if cls.__setattr__ is object.__setattr__ else "_set(self, {!r}, {})"
    body = [line for field in fields if (line := _assignment(field, scope, form))]
    body += ["self.__post_init__()"] if hasattr(cls, "__post_init__") else []
    exec(f"def __init__({_parameters(fields)}):\n " + "\n ".join(body or ["pass"]), scope)
    made: Any = scope["__init__"]
    made.__qualname__, made.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
    made.__annotations__ = {field.name: field.type for field in fields if field.init} | {"return": None}
    return made


def _parameters(fields: Sequence[Field]) -> str:
    given = {field.name: field.kw_only for field in fields if field.init}
    words = {field.name: f"=_default_{field.name}" if _has_default(field) else "" for field in fields}
    positional = [name + words[name] for name, by_keyword in given.items() if not by_keyword]
    by_keyword = [name + words[name] for name, by_keyword in given.items() if by_keyword]
    return ", ".join(["self", *positional, *["*"] * bool(by_keyword), *by_keyword])


def _assignment(field: Field, scope: dict[str, Any], form: str) -> str:
    """Write the line that sets a field, and put into `scope` what it names; "" if the class has its value."""
    name = value = field.name
    scope[f"_default_{name}"] = field.default
    if field.default_factory is not dataclasses.MISSING:
        scope |= {f"_made_{name}": field.default_factory, f"_default_{name}": _LEFT_OUT}
        value = f"_made_{name}() if {name} is _left_out else {name}" if field.init else f"_made_{name}()"
    return form.format(name, value) if field.init or value != name else ""


_METHODS = {"__init__": _compile_init, "__eq__": _eq_of, "__repr__": _repr_of}
_FROZEN_METHODS = {"__hash__": _hash_of, "__setattr__": _setattr_of, "__delattr__": _delattr_of}
_WORDS = {
    "__dataclass_fields__": _fields_of,
    "__dataclass_params__": _parameters_of,
    "__match_args__": _match_args_of,
}
