"""Public prices of models, from the table in the genai-prices package; it is never downloaded.

Imported only to price something, because the import takes a third of a second.
"""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

from podium.core.types import MicroUsd
from podium.ports.agent import Usage


def public_price(vendor: str, model: str, usage: Usage) -> tuple[MicroUsd, str] | None:
    """The cost and the table that it comes from; `vendor` is a name such as openai, or the URL of an API."""
    from importlib.metadata import version

    import genai_prices

    # The input of genai-prices includes the tokens that were read from a cache or written to it.
    tokens = genai_prices.Usage(
        input_tokens=usage.input + usage.cached,
        cache_read_tokens=usage.cached,
        cache_write_tokens=usage.written,
        output_tokens=usage.output,
    )
    try:
        if "://" in vendor:
            price = genai_prices.calc_price(tokens, model_ref=model, provider_api_url=vendor)
        else:
            price = genai_prices.calc_price(tokens, model_ref=model, provider_id=vendor)
    except LookupError:
        return None
    micro = (price.total_price * Decimal(1_000_000)).to_integral_value(ROUND_HALF_UP)
    return MicroUsd(int(micro)), f"genai-prices {version('genai-prices')}"
