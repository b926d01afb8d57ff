"""A model server for tests: the vendors' APIs on 127.0.0.1, answering by rules."""

from podium.testing.models.server import (
    NOTHING,
    Asked,
    Choose,
    ModelServer,
    Received,
    Reply,
    Route,
    Rule,
    Tokens,
)

__all__ = ["NOTHING", "Asked", "Choose", "ModelServer", "Received", "Reply", "Route", "Rule", "Tokens"]
