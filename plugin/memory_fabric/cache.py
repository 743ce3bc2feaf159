"""A function that remembers its answers; `functools` would cost a hook a fifth of a start."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class Memo(dict["Any", "Any"]):
    """Answers of a pure function of one argument, made when first asked for: `memo[argument]`.

    All are forgotten when there are `most`.
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
