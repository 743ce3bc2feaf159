"""Named tuples without `typing`: the syntax of `typing.NamedTuple` without its start-up.

Type checkers see `typing.NamedTuple`; at run time a class body becomes a subclass of `tuple` with
the same fields and defaults and the methods in use (docs/decisions/0001).
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NamedTuple as Value

    # Reports the progress of a long task: how much is done, of how much.
    Progress = Callable[[int, int], object]
else:
    from _operator import itemgetter  # `operator` is a third of a millisecond

    class _ValueType(type):
        def __new__(cls, name, bases, space):
            if bases == (tuple,):
                return type.__new__(cls, name, bases, space)
            fields = tuple(space.get("__annotations__", ()))
            defaults = {field: space[field] for field in fields if field in space}
            places = {field: property(itemgetter(i)) for i, field in enumerate(fields)}
            made = {"_fields": fields, "__match_args__": fields, "_field_defaults": defaults}
            return type.__new__(cls, name, bases, {**space, **places, **made, "__slots__": ()})

    class Value(tuple, metaclass=_ValueType):
        """Base of all named tuples of the package."""

        __slots__ = ()
        _fields = ()
        _field_defaults = {}

        def __new__(cls, *values, **named):
            fields = cls._fields
            rest = fields[len(values) :]
            if rest:
                given = {**cls._field_defaults, **named} if named else cls._field_defaults
                try:
                    values += tuple([given[field] for field in rest])
                except KeyError as missing:
                    raise TypeError(f"{cls.__name__} needs {missing.args[0]}") from None
            if len(values) > len(fields) or (named and not named.keys() <= set(rest)):
                unknown = ", ".join([name for name in named if name not in rest])
                what = unknown or f"{len(values)} values for {len(fields)} fields"
                raise TypeError(f"{cls.__name__} does not take {what}")
            return tuple.__new__(cls, values)

        def _replace(self, **changed):
            made = tuple.__new__(type(self), map(changed.pop, self._fields, self))
            if changed:
                raise TypeError(f"{type(self).__name__} does not take {', '.join(changed)}")
            return made

        def _asdict(self):
            return dict(zip(self._fields, self, strict=True))

        def __repr__(self):
            fields = ", ".join(f"{k}={v!r}" for k, v in self._asdict().items())
            return f"{type(self).__name__}({fields})"

        def __getnewargs__(self):
            return tuple(self)


__all__ = ["Value"]
