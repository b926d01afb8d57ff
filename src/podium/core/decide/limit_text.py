"""Says how a limit was reached: what is spent and reserved, what the next attempt requests, and what is allowed."""

from __future__ import annotations

from typing import Final

from podium.core.ledger import NOTHING, without_reserve, working_time
from podium.core.payloads import Amounts
from podium.core.policy import Limits
from podium.core.state import Ledger
from podium.core.types import Millis, Unit

_PAID: Final = ("usd", "tokens", "calls")


def limit_message(
    ledger: Ledger,
    unit: Unit,
    at: Millis,
    reserve: Amounts = NOTHING,
    needed: int = 0,
    *,
    in_finally: bool = False,
) -> str:
    """`reserve` is what the refused attempt requests; `needed` is how many members a loop would have."""
    limits = ledger.limits if in_finally else without_reserve(ledger.limits)
    owner = f'"{ledger.path}"' if ledger.path else "the run"
    return f"the limit on {unit} of {owner} is reached: {_numbers(ledger, unit, at, reserve, needed, limits)}"


def _numbers(ledger: Ledger, unit: Unit, at: Millis, reserve: Amounts, needed: int, limits: Limits) -> str:
    allowed = getattr(limits, unit, None) or 0
    if unit in _PAID:
        spent, unknown, reserved, requested = (
            getattr(amounts, unit) for amounts in (ledger.spent, ledger.unknown, ledger.reserved, reserve)
        )
        parts = [(spent, "spent"), *([(unknown, "of unknown cost")] if unknown else [])]
        parts += [(reserved, "reserved"), (requested, "requested"), (allowed, "allowed")]
        return ", ".join(f"{_amount(unit, amount)} {word}" for amount, word in parts)
    used = {
        "time": working_time(ledger, at),
        "transitions": ledger.transitions,
        "window": ledger.window,
        "messages": ledger.messages,
    }.get(unit, needed)
    return f"{_amount(unit, used)} used, {_amount(unit, allowed)} allowed"


def _amount(unit: Unit, amount: int) -> str:
    match unit:
        case "usd":
            return f"${amount / 1_000_000:.2f}" if amount % 10_000 == 0 else f"${amount / 1_000_000:g}"
        case "time":
            return f"{amount / 1000:g} s"
        case _:
            return str(amount)
