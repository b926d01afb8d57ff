"""The real programs as a person's assistant: started in a project, with `podium mcp` in their settings as it prints them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

from podium.testing.models.server import ModelServer
from tests.live.programs import found

KEY: Final = "dummy-key-4711-of-nobody"
PROMPT: Final = "Run flow.yaml and tell me when it needs me."
TOOLS: Final = {
    "claude": "mcp__podium__{}",
    "codex": "mcp__podium__{}",
    "gemini": "mcp_podium_{}",
}
"""What each program calls a tool of the server to its model."""
CODEX: Final = """\
model = "gpt-5.5"
model_provider = "local"
[model_providers.local]
name = "local"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "OPENAI_API_KEY"
[analytics]
enabled = false
"""


def entry(name: str) -> str:
    """What `podium mcp --print-config` prints, with the program of this environment."""
    podium = Path(sys.executable).with_name("podium")
    done = subprocess.run([podium, "mcp", "--print-config", name], capture_output=True, text=True, check=True)
    return done.stdout


def work(name: str, project: Path, home: Path, server: ModelServer) -> subprocess.CompletedProcess[str]:
    """One cold start: a new home, the printed entry in its place, one task without a person."""
    home.mkdir(parents=True)
    argv, env = {"claude": _claude, "codex": _codex, "gemini": _gemini}[name](project, home, server)
    clean = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": str(home),
        "TMPDIR": str(home),
        "PODIUM_USER": "ann",
        "NO_COLOR": "1",
    }
    return subprocess.run(
        argv,
        cwd=project,
        env={**clean, **env},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def _claude(project: Path, home: Path, server: ModelServer) -> tuple[list[str], dict[str, str]]:
    config = home / "mcp.json"
    config.write_text(entry("claude"))
    argv = [found("claude"), "--print", "--strict-mcp-config", f"--mcp-config={config}"]
    env = {
        "ANTHROPIC_API_KEY": KEY,
        "ANTHROPIC_BASE_URL": server.url,
        "CLAUDE_CONFIG_DIR": str(home / ".claude"),
        "DISABLE_TELEMETRY": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "DISABLE_AUTOUPDATER": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    }
    return [*argv, "--allowedTools=mcp__podium", "--", PROMPT], env


def _codex(project: Path, home: Path, server: ModelServer) -> tuple[list[str], dict[str, str]]:
    folder = home / ".codex"
    folder.mkdir()
    # Without a person, codex would refuse tools that write.
    approval = 'default_tools_approval_mode = "approve"\n'
    (folder / "config.toml").write_text(CODEX.format(url=server.url) + entry("codex") + approval)
    argv = [found("codex"), "exec", "--json", "--skip-git-repo-check", "--color=never", PROMPT]
    return argv, {"OPENAI_API_KEY": KEY, "CODEX_HOME": str(folder)}


def _gemini(project: Path, home: Path, server: ModelServer) -> tuple[list[str], dict[str, str]]:
    folder = home / ".gemini"
    folder.mkdir()
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
        "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
        **json.loads(entry("gemini")),
    }
    # Without a person, gemini would refuse tools of a server that is not trusted.
    settings["mcpServers"]["podium"]["trust"] = True
    (folder / "settings.json").write_text(json.dumps(settings))
    env = {
        "GEMINI_API_KEY": KEY,
        "GOOGLE_GEMINI_BASE_URL": server.url,
        "GEMINI_CLI_HOME": str(home),
        "GEMINI_CLI_NO_RELAUNCH": "true",
    }
    return [found("gemini"), "--model=gemini-2.5-flash", "--prompt", PROMPT], env
