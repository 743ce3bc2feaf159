"""A cache for pure functions; importing `functools` would take a fifth of a bare start."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class Memo(dict["Any", "Any"]):
    """Cached results of a pure function of one argument, computed on first use: `memo[argument]`.

    The cache is emptied when it holds `most` results.
    """

    def __init__(self, function: Callable[[Any], Any], most: int) -> None:
        super().__init__()
        self.function, self.most = function, most

    def __missing__(self, asked: Any) -> Any:
        answer = self.function(asked)
        if len(self) >= self.most:
            self.clear()
        self[asked] = answer
        return answer


class Cached(dict["tuple[Any, ...]", "Any"]):
    """A function whose results are kept for ever; its arguments are given by their place."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function
        self.__doc__ = function.__doc__

    def __missing__(self, asked: tuple[Any, ...]) -> Any:
        answer = self[asked] = self.function(*asked)
        return answer

    def __call__(self, *asked: Any) -> Any:
        return self[asked]


if TYPE_CHECKING:
    from functools import cache

    cached = cache
else:
    # As functools.cache, for positional arguments.
    cached = Cached
