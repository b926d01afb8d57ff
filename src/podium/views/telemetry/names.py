"""All names of spans, attributes and metrics: the only table of them.

Those that begin with `gen_ai.` and `error.` are from the semantic conventions for generative AI, open-telemetry/semantic-
conventions, release 1.37.0, status Development. The strings are copied because the conventions still change.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

SCOPE: Final = "podium"
SERVICE: Final = "service.name"
INSTANCE: Final = "service.instance.id"

OPERATION: Final = "gen_ai.operation.name"
INVOKE_WORKFLOW: Final = "invoke_workflow"
INVOKE_AGENT: Final = "invoke_agent"
WORKFLOW_NAME: Final = "gen_ai.workflow.name"
AGENT_NAME: Final = "gen_ai.agent.name"
PROVIDER: Final = "gen_ai.provider.name"
REQUEST_MODEL: Final = "gen_ai.request.model"
RESPONSE_MODEL: Final = "gen_ai.response.model"
CONVERSATION: Final = "gen_ai.conversation.id"
INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
CACHED_TOKENS: Final = "gen_ai.usage.cache_read.input_tokens"
TOKEN_TYPE: Final = "gen_ai.token.type"  # noqa: S105 (the name of an attribute)
EVALUATION: Final = "gen_ai.evaluation.name"
SCORE: Final = "gen_ai.evaluation.score.value"
SCORE_LABEL: Final = "gen_ai.evaluation.score.label"
ERROR_TYPE: Final = "error.type"

RUN_ID: Final = "podium.run.id"
RUN_STATUS: Final = "podium.run.status"
COST: Final = "podium.cost.usd"
COST_SOURCE: Final = "podium.cost.source"
UNKNOWN_CALLS: Final = "podium.cost.unknown_calls"
STEP_PATH: Final = "podium.step.path"
STEP_ROLE: Final = "podium.step.role"
STEP_OUTCOME: Final = "podium.step.outcome"
ATTEMPT: Final = "podium.attempt"
ATTEMPTS: Final = "podium.attempts"
TREE: Final = "podium.tree"
QUESTION_KIND: Final = "podium.question.kind"
ANSWER_ACTION: Final = "podium.answer.action"
ANSWERED: Final = "answered"
TEXT: Final = "podium.text"
"""The answer of an attempt; only if content was asked for."""

TOKEN_USAGE: Final = "gen_ai.client.token.usage"  # noqa: S105 (the name of a metric)
WORKFLOW_DURATION: Final = "gen_ai.workflow.duration"
AGENT_DURATION: Final = "gen_ai.invoke_agent.duration"
RUNS_METRIC: Final = "podium.runs"
COST_METRIC: Final = "podium.cost"
ATTEMPTS_METRIC: Final = "podium.attempts"
WAIT_METRIC: Final = "podium.question.wait"
WAITING_METRIC: Final = "podium.questions.waiting"

PROVIDERS: Final[Mapping[str, str]] = {"google": "gcp.gen_ai"}
"""Vendors whose name in the conventions differs from that in price tables."""
