"""Prints the prices of models as a table, from the data of the Python package `genai-prices`.

Usage: python3 prices.py DIRECTORY VERSION, where DIRECTORY contains the unpacked package.
"""

import datetime
import re
import sys
import types

# Names of the table, and what the package calls these providers.
PROVIDERS = {
    "anthropic": "anthropic",
    "cerebras": "cerebras",
    "deepseek": "deepseek",
    "fireworks": "fireworks",
    "gemini": "google",
    "groq": "groq",
    "mistral": "mistral",
    "openai": "openai",
    "openrouter": "openrouter",
    "together": "together",
    "xai": "x-ai",
}
HEADER = """\
# The prices of models per million tokens, in US dollars: provider, model, input, output, input from a cache.
# `cargo xtask prices` writes this file from the package genai-prices, Copyright (c) Pydantic Services Inc. 2025 to
# present, under the MIT licence. Where a price depends on the length of the prompt, it is that of short prompts; where
# it depends on the hour, it is the highest.
"""


def names_of(match):
    """The names in a condition that stand for a whole name or for the start of one."""
    for attribute in ("equals", "starts_with"):
        if value := getattr(match, attribute, None):
            yield value
    for attribute in ("or_", "and_"):
        for part in getattr(match, attribute, None) or []:
            yield from names_of(part)


def amount(price):
    """The price of short prompts as text, or None."""
    price = getattr(price, "base", price)
    return None if price is None else f"{price.normalize():f}"


def prices_at(model, day):
    """The prices of a day, at the hour at which they are highest."""
    hours = (model.get_prices(day.replace(hour=hour)) for hour in range(24))
    return max(hours, key=lambda prices: float(amount(getattr(prices, "output_mtok", None)) or 0))


def rows_of(provider, day):
    for model in provider.models:
        for name in {model.id, *names_of(model.match)}:
            # Another model of the provider can match first, and only the start of a name is no name.
            is_name = re.fullmatch(r"[A-Za-z0-9][!-~]*[A-Za-z0-9]", name)
            if provider.find_model(name) is not model or not is_name:
                continue
            # These models have another API.
            if provider.id == "google" and name.startswith("claude"):
                continue
            prices = prices_at(model, day)
            amounts = [amount(getattr(prices, key, None)) for key in ("input_mtok", "output_mtok", "cache_read_mtok")]
            # Models that only read, such as those for embeddings, and free offers, which have limits, are left out.
            if amounts[0] is None or amounts[1] is None or float(amounts[0]) + float(amounts[1]) == 0:
                continue
            yield name.lower(), [it for it in amounts if it is not None]


def main():
    directory, version = sys.argv[1:]
    # The package itself imports an HTTP client, which its data do not need.
    package = types.ModuleType("genai_prices")
    package.__path__ = [f"{directory}/genai_prices"]
    sys.modules["genai_prices"] = package
    from genai_prices.data import providers

    now = datetime.datetime.now(datetime.timezone.utc)
    print(HEADER, end="")
    print(f"date {now.date()}")
    print(f"source genai-prices {version}")
    by_id = {provider.id: provider for provider in providers}
    for name, its_id in PROVIDERS.items():
        for model, amounts in sorted(dict(rows_of(by_id[its_id], now)).items()):
            print(name, model, *amounts)


main()
