"""Data classes of `pse.records` are what those of the standard library are, made later."""

import dataclasses
import inspect
import pickle
from functools import cached_property

import pytest

from pse.records import dataclass


@dataclass(frozen=True)
class Place:
    """A place, with all that fields can have."""

    x: int
    tags: tuple[str, ...] = ()
    seen: list[int] = dataclasses.field(default_factory=list, compare=False)
    hidden: str = dataclasses.field(default="", repr=False, kw_only=True)

    def __post_init__(self):
        if self.x < 0:
            raise ValueError("x must not be negative")

    @cached_property
    def double(self):
        """Computed once, though no field can be set."""
        return 2 * self.x


@dataclass(frozen=True)
class Named(Place):
    """A subclass with a field more."""

    name: str = "somewhere"


@dataclass(frozen=True)
class Fieldless:
    """Nothing."""


@dataclass
class Mutable:
    """Fields that can be set."""

    x: int
    seen: list[int] = dataclasses.field(default_factory=list)
    hidden: int = dataclasses.field(default=3, init=False, repr=False)


def test_without_options_fields_can_be_set_and_objects_compared_but_not_hashed():
    first, second = Mutable(1), Mutable(2)
    second.x = 1
    assert (first, repr(second), second.hidden) == (second, "Mutable(x=1, seen=[])", 3)
    second.seen.append(1)
    assert (first != second, first.seen, dataclasses.replace(second, x=4)) == (True, [], Mutable(4, [1]))
    with pytest.raises(TypeError, match="unhashable"):
        hash(first)
    assert pickle.loads(pickle.dumps(second)) == second


def standard(cls):
    """Make the same class by the standard library."""
    own = {name: vars(cls)[name] for name in ("__annotations__", "__post_init__", "__module__", "__doc__")}
    defaults = {
        "tags": (),
        "seen": dataclasses.field(default_factory=list, compare=False),
        "hidden": dataclasses.field(default="", repr=False, kw_only=True),
    }
    return dataclasses.dataclass(frozen=True)(type(cls.__name__, (), own | defaults))


@pytest.mark.parametrize("given", [((1,), {}), ((1, ("a",), [2]), {"hidden": "b"}), ((), {"x": 3})])
def test_it_is_the_same_as_the_standard_librarys(given):
    arguments, words = given
    ours, theirs = Place(*arguments, **words), standard(Place)(*arguments, **words)
    assert repr(ours) == repr(theirs)
    assert dataclasses.asdict(ours) == dataclasses.asdict(theirs)
    assert (ours == Place(*arguments, **words), hash(ours) == hash(Place(*arguments, **words))) == (
        True,
        True,
    )
    assert ours != theirs
    assert ours != dataclasses.replace(ours, x=9)
    assert pickle.loads(pickle.dumps(ours)) == ours


def test_calls_are_refused_and_described_alike():
    assert str(inspect.signature(Place)).replace("'", "") == str(inspect.signature(standard(Place))).replace(
        "'", ""
    )
    for wrong in [(), (1, 2, 3, 4)]:
        with pytest.raises(TypeError, match=r"Place\.__init__\(\) "):
            Place(*wrong)
    with pytest.raises(ValueError, match="negative"):
        Place(-1)


def test_fields_can_not_be_set_but_computed_ones_are_kept():
    place = Named(1)
    for change in (lambda: setattr(place, "x", 2), lambda: delattr(place, "name")):
        with pytest.raises(dataclasses.FrozenInstanceError, match="cannot"):
            change()
    assert (place.double, vars(place)["double"]) == (2, 2)
    assert (repr(place), Fieldless()) == ("Named(x=1, tags=(), seen=[], name='somewhere')", Fieldless())


def test_each_object_has_its_own_default():
    first, second = Place(1), Place(1)
    first.seen.append(3)
    assert (second.seen, first == second) == ([], True)


def test_a_class_with_a_field_without_default_after_one_with_makes_no_object():
    @dataclass(frozen=True)
    class Wrong:
        """Wrong order."""

        a: int = 1
        b: str

    with pytest.raises(TypeError, match="field b without a default follows a, which has one"):
        Wrong(1, "b")


def test_other_options_are_the_standard_librarys():
    @dataclass(order=True)
    class Ordered:
        """Made at once."""

        a: int

    assert Ordered(1) < Ordered(2)
