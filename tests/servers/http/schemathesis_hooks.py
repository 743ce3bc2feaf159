"""Times as senders have them: a schema cannot say that the future is refused."""

from __future__ import annotations

from datetime import UTC, datetime

import schemathesis
from hypothesis import strategies

schemathesis.openapi.format(
    "date-time",
    strategies.datetimes(
        datetime(1971, 1, 1), datetime(2026, 1, 1), timezones=strategies.just(UTC)
    ).map(lambda at: at.isoformat().replace("+00:00", "Z")),
)
