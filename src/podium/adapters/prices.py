"""Public prices of models, from the table that comes with genai-prices: bundled, dated by its release, never fetched.

Imported only when something has to be priced, for that takes a third of a second.
"""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from importlib.metadata import version

from podium.core.types import MicroUsd
from podium.ports.agent import Usage


def public_price(vendor: str, model: str, usage: Usage) -> tuple[MicroUsd, str] | None:
    """`vendor` is a name of the table: anthropic, openai, google; or the address of an API."""
    import genai_prices

    # Its input is everything that was read; what was cached or written to a cache is a part of it.
    counted = genai_prices.Usage(
        input_tokens=usage.input + usage.cached,
        cache_read_tokens=usage.cached,
        cache_write_tokens=usage.written,
        output_tokens=usage.output,
    )
    try:
        if "://" in vendor:
            found = genai_prices.calc_price(counted, model_ref=model, provider_api_url=vendor)
        else:
            found = genai_prices.calc_price(counted, model_ref=model, provider_id=vendor)
    except LookupError:
        return None
    micro = (found.total_price * Decimal(1_000_000)).to_integral_value(ROUND_HALF_UP)
    return MicroUsd(int(micro)), f"genai-prices {version('genai-prices')}"
