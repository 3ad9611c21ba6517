"""When to ask a host again: how long to wait, after what, and when to stop."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from wainwright.errors import Exit, WainwrightError

TRANSIENT = frozenset({408, 409, 500, 502, 503, 504})


# Each of these three is answered where it is expected, and elsewhere leaves as any other error.


class Unsure(WainwrightError):  # noqa: N818  the write may well have been done
    """A write was sent and its outcome is unknown. Look before sending it again."""

    def __init__(self, what: str, *, where: str = "") -> None:
        hint = "run the same command again: it looks before it writes"
        super().__init__(what, code=Exit.RETRIES_EXHAUSTED, where=where, hint=hint)


class Gone(WainwrightError):  # noqa: N818  what it says is all there is to it
    """What was asked for is not there, or not for this token."""

    def __init__(self, what: str, *, where: str = "") -> None:
        super().__init__(what, code=Exit.REFUSED, where=where, hint="it is not there, or not for this token")


class Unprocessable(WainwrightError):  # noqa: N818  HTTP's own word for 422
    """The host understood, and refuses; `codes` are its machine-readable reasons."""

    def __init__(self, what: str, codes: frozenset[str] = frozenset(), *, where: str = "") -> None:
        super().__init__(what, code=Exit.REFUSED, where=where)
        self.codes = codes


def _silence(_: str) -> None:
    return


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How patient to be. All times are in seconds; `now` gives them since the epoch, `jitter` a number in [0, 1).

    `pause` lies between two writes, as GitHub asks for; `longest_wait` is the longest that a rate limit is sat out: a
    little more than its hour. `longest_answer` is for an answer as a whole, or for a block of a file.
    """

    attempts: int = 6
    pause: float = 1.0
    longest_backoff: float = 60.0
    longest_wait: float = 3900.0
    longest_answer: float = 600.0
    now: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep
    jitter: Callable[[], float] = random.random
    tell: Callable[[str], None] = _silence

    def backoff(self, attempt: int) -> float:
        """Double with each attempt, and spread, so that two that collided do not collide again."""
        return min(self.longest_backoff, float(2**attempt)) * (0.5 + self.jitter() / 2)

    def rounds(self, what: str, where: str, *, why: Callable[[], str]) -> Iterator[int]:
        """Count attempts, waiting before each but the first; raises RETRIES_EXHAUSTED after the last."""
        for attempt in range(self.attempts):
            if attempt:
                self.sleep(self.backoff(attempt - 1))
            yield attempt
        raise exhausted(what, where, why())

    def sit_out(self, seconds: float, *, what: str, where: str) -> None:
        """Wait for a rate limit to end, unless that would take too long."""
        if seconds > self.longest_wait:
            raise exhausted(what, where, f"a rate limit that ends in {seconds / 60:.0f} minutes")
        if seconds > 5:
            self.tell(f"{where}: rate limit, waiting {seconds:.0f} s")
        self.sleep(seconds)


def exhausted(what: str, where: str, why: str) -> WainwrightError:
    """Say that patience has ended; what was done until then stays, and is found again."""
    return WainwrightError(
        f"could not {what}: {why}",
        code=Exit.RETRIES_EXHAUSTED,
        where=where,
        hint="nothing is lost: run the same command again later, and it goes on from here",
    )


def limit_wait(status: int, headers: Mapping[str, str], message: str, *, attempt: int, now: float) -> float | None:
    """Give how long a rate limit asks to wait, or None when this answer is not one. `now` is in seconds.

    GitHub's documentation: a limit is a 403 or a 429; wait for `retry-after`; else, when `x-ratelimit-remaining` is 0,
    until `x-ratelimit-reset`; else at least a minute, and longer each time.
    """
    spent = headers.get("x-ratelimit-remaining") == "0"
    words = message.lower()
    told = "retry-after" in headers or spent or "rate limit" in words or "abuse detection" in words
    if status != 429 and not (status == 403 and told):
        return None
    after = retry_after(headers, now=now)
    if after is not None:
        return after
    if spent:
        wait = until_reset(headers, now=now)
        if wait is not None:
            return wait
    return 60.0 * float(2**attempt)


def until_reset(headers: Mapping[str, str], *, now: float) -> float | None:
    """Give the seconds until `x-ratelimit-reset`, by the host's own clock where it sends one."""
    text = headers.get("x-ratelimit-reset", "").strip()
    if not (text.isascii() and text.isdecimal()):
        return None
    reset = float(text)
    return max(0.0, reset - _date(headers.get("date", ""), otherwise=now)) + 1.0


def retry_after(headers: Mapping[str, str], *, now: float) -> float | None:
    """Give the seconds that an answer asks to wait. RFC 9110, Retry-After: delay seconds, or an HTTP date."""
    text = headers.get("retry-after", "").strip()
    if text.isascii() and text.isdecimal():
        return float(text)
    moment = _date(text, otherwise=-1.0)
    return None if moment < 0 else max(0.0, moment - now)


def _date(text: str, *, otherwise: float) -> float:
    try:
        return parsedate_to_datetime(text).timestamp()
    except (ArithmeticError, LookupError, TypeError, ValueError):  # of what is no date, each in its own way
        return otherwise
