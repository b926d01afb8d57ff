"""A local model is chosen by the role and by the memory of the graphics card, and its settings may come from outside."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest

from podium.adapters.agents.ollama.agent import Ollama
from podium.adapters.agents.ollama.gpus import Gpu, find_gpus
from podium.adapters.agents.ollama.tiers import tier_for
from podium.errors import ConfigurationError
from podium.ports.agent import AgentRequest, AgentResult
from podium.testing.models.server import ModelRequest, ModelServer, Rule

OWN = {
    "gb8": {
        "vram": [6, 12],
        "writer": "mine:8b",
        "poet": "rhymes:8b",
        "fallback": "mine:1b",
        "context": "16k",
    }
}


def ask(
    tmp_path: Path, url: str, *, gb: float = 8, env: Mapping[str, str] | None = None, **more: Any
) -> AgentResult:
    async def gpus(_env: Mapping[str, str]) -> tuple[Gpu, ...]:
        return (Gpu("card", gb),) if gb else ()

    config = {"base_url": url, **more.pop("config", {})} if url else more.pop("config", {})
    request = AgentRequest(
        agent="local", config=config, path="it", step="it", visit=1, attempt=1, prompt="Sum it up",
        project=tmp_path, cwd=tmp_path, home=tmp_path, **more,
    )  # fmt: skip
    return anyio.run(Ollama(env or {}, gpus).call, request)


@pytest.mark.req("R066")
@pytest.mark.parametrize(
    ("gb", "name"),
    [(0, "cpu"), (4, "cpu"), (6, "gb8"), (11, "gb8"), (16, "gb16"), (24, "gb24"), (80, "gb48")],
)
def test_the_memory_of_the_card_decides_the_tier_without_gaps(gb: float, name: str) -> None:
    assert tier_for(gb).name == name


@pytest.mark.req("R066")
def test_a_role_has_its_model_and_tiers_of_the_file_go_first() -> None:
    tier = tier_for(8, OWN)

    assert tier.model_for("poet", judge=False) == "rhymes:8b"
    assert tier.model_for("planner", judge=False) == "mine:8b"
    assert tier.model_for("reviewer", judge=True) == "mine:1b", "nobody named an auditor"
    assert tier_for(24, OWN).model_for("implementer", judge=False) == "qwen2.5-coder:32b"


@pytest.mark.parametrize("tiers", [{"x": 5}, {"x": {"vram": "big"}}, {"x": {"vram": [0]}}])
def test_tiers_of_the_wrong_shape_are_said_with_the_right_one(tiers: Any) -> None:
    with pytest.raises(ConfigurationError) as error:
        tier_for(0, {"cpu": tiers["x"]})
    assert "vram: [12, 20]" in (error.value.hint or "")


@pytest.mark.req("R066")
def test_the_model_and_its_window_are_asked_for_and_a_missing_one_gives_way_to_the_fallback(
    tmp_path: Path,
) -> None:
    def is_small(asked: ModelRequest) -> bool:
        return asked.model == "mine:1b"

    with ModelServer(Rule(match=is_small, text="short"), Rule(status=404, error="model not found")) as server:
        result = ask(tmp_path, server.url, config={"tiers": OWN}, role="writer")

    assert (result.text, result.model) == ("short", "mine:1b")
    assert [one.body["model"] for one in server.requests_to()] == ["mine:8b", "mine:1b"]
    assert server.requests_to()[0].body["options"]["num_ctx"] == 16000


def test_where_neither_is_there_the_first_is_named_with_how_to_get_it(tmp_path: Path) -> None:
    with ModelServer(Rule(status=404, error="model not found")) as server:
        result = ask(tmp_path, server.url, gb=0)

    assert result.trouble == "unavailable"
    assert "ollama pull phi3:mini" in result.detail


@pytest.mark.req("R082")
def test_the_environment_speaks_where_the_file_is_silent(tmp_path: Path) -> None:
    with ModelServer(Rule(text="short")) as server:
        env = {"OLLAMA_BASE_URL": server.url, "OLLAMA_MODEL_NAME": "theirs", "OLLAMA_TEMPERATURE": "0.7"}
        ask(tmp_path, "", env=env)
        ask(
            tmp_path,
            server.url,
            env={**env, "OLLAMA_BASE_URL": "http://127.0.0.1:9"},
            model="mine",
            config={"temperature": 0.1},
        )

    first, second = (one.body for one in server.requests_to())
    assert (first["model"], first["options"]["temperature"]) == ("theirs", 0.7)
    assert (second["model"], second["options"]["temperature"]) == ("mine", 0.1)


def test_the_time_for_a_request_may_come_from_the_environment(tmp_path: Path) -> None:
    with ModelServer(Rule(fault="hang")) as server:
        result = ask(tmp_path, server.url, env={"OLLAMA_REQUEST_TIMEOUT": "1", "OLLAMA_MODEL_NAME": "m"})

    assert result.trouble == "timeout"
    with pytest.raises(ConfigurationError, match="OLLAMA_REQUEST_TIMEOUT"):
        ask(tmp_path, "http://127.0.0.1:9", env={"OLLAMA_REQUEST_TIMEOUT": "soon"})


@pytest.mark.req("R067")
def test_cards_are_found_by_what_their_drivers_tell(tmp_path: Path) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text("#!/bin/sh\necho 'GeForce, Test, 24576'\necho 'Small, 8192'\necho nonsense\n")
    program.chmod(0o755)
    card = tmp_path / "drm/card1/device"
    card.mkdir(parents=True)
    (card / "mem_info_vram_total").write_text(f"{16 << 30}\n")

    found = anyio.run(find_gpus, {"PATH": f"{tmp_path}:/usr/bin:/bin"}, tmp_path / "drm")

    assert found == (Gpu("GeForce, Test", 24.0), Gpu("card1", 16.0), Gpu("Small", 8.0))
    assert anyio.run(find_gpus, {"PATH": "/nowhere"}, tmp_path / "none") == ()
