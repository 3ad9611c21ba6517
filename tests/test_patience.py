from __future__ import annotations

import pytest

from wainwright.errors import Exit, WainwrightError
from wainwright.hosts.patience import Patience, limit_wait, until_reset

NOW = 1_800_000_000.0
SPENT = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1800000100"}


@pytest.mark.parametrize(
    ("status", "headers", "message", "attempt", "wait"),
    [
        (200, SPENT, "", 0, None),
        (404, {"retry-after": "5"}, "", 0, None),
        (503, {"retry-after": "5"}, "", 0, None),
        (403, {}, "Resource not accessible by integration", 0, None),
        (403, {"x-ratelimit-remaining": "12"}, "Must have admin rights", 0, None),
        (403, {}, "You have exceeded a secondary rate limit", 0, 60),
        (403, {}, "You have triggered an abuse detection mechanism", 2, 240),
        (403, SPENT, "", 0, 101),
        (403, SPENT | {"retry-after": "3"}, "", 0, 3),
        (403, {"x-ratelimit-remaining": "0"}, "", 0, 60),
        (403, SPENT | {"x-ratelimit-reset": "soon"}, "", 1, 120),
        (429, {}, "", 1, 120),
        (429, {"retry-after": "Fri, 15 Jan 2027 08:01:00 GMT"}, "", 0, 60),
        (429, {"retry-after": "Fri, 15 Jan 2027 07:00:00 GMT"}, "", 0, 0),
        (429, {"retry-after": "in a while"}, "", 0, 60),
    ],
)
def test_a_rate_limit_says_how_long(
    status: int, headers: dict[str, str], message: str, attempt: int, wait: float | None
) -> None:
    assert limit_wait(status, headers, message, attempt=attempt, now=NOW) == wait


def test_the_hosts_own_clock_counts() -> None:
    headers = SPENT | {"date": "Fri, 15 Jan 2027 08:01:00 GMT"}
    assert until_reset(headers, now=NOW - 5000) == 41
    assert until_reset({}, now=NOW) is None


def test_backoff_doubles_spreads_and_ends() -> None:
    assert [Patience(jitter=lambda: 1.0).backoff(attempt) for attempt in range(8)] == [1, 2, 4, 8, 16, 32, 60, 60]
    assert Patience(jitter=lambda: 0.0).backoff(3) == 4


def test_rounds_wait_between_and_end_with_the_reason() -> None:
    waits: list[float] = []
    patience = Patience(attempts=3, sleep=waits.append, jitter=lambda: 1.0)
    with pytest.raises(WainwrightError, match=r"could not upload a: it rained") as caught:
        list(patience.rounds("upload a", "here", why=lambda: "it rained"))
    assert caught.value.code is Exit.RETRIES_EXHAUSTED
    assert waits == [1, 2]


def test_a_long_wait_is_announced() -> None:
    told: list[str] = []
    patience = Patience(sleep=lambda _: None, tell=told.append)
    patience.sit_out(2, what="list", where="octo/demo")
    patience.sit_out(61, what="list", where="octo/demo")
    assert told == ["octo/demo: rate limit, waiting 61 s"]
