"""The real claude, recorded with a login and played back without it, its key or its server."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from podium.testing.models.server import ModelServer
from tests.e2e.kit import closing
from tests.live.test_claude_runs import KEY, TOKEN, project, rules, texts

pytestmark = [pytest.mark.live, pytest.mark.timeout(600)]


@pytest.mark.req("X16", "R187")
def test_what_claude_did_with_a_login_is_played_without_claude_and_the_login_is_in_no_recording(
    tmp_path: Path,
) -> None:
    login = {"accessToken": TOKEN, "refreshToken": TOKEN[::-1], "expiresAt": int(time.time() + 36000) * 1000}
    with ModelServer(*rules(("Write", {"file_path": "shed.txt", "content": "blue\n"}))) as server:
        own = project(tmp_path, server, auth="login")
        place = own.home / ".claude/.credentials.json"
        place.parent.mkdir()
        place.write_text(json.dumps({"claudeAiOauth": {**login, "scopes": ["user:inference"]}}))
        with closing(own):
            ended = own.podium("run", "flow.yaml", "--sandbox", "limits", "--record", "tapes", timeout_s=150)
            assert ended.code == 0, ended.out + ended.err
    calls = len(server.requests_to())
    place.unlink()
    del own.env["ANTHROPIC_API_KEY"]
    flow = own.root / "flow.yaml"
    flow.write_text(flow.read_text("utf-8").replace("command: ", "command: /nowhere"), "utf-8")

    with closing(own):
        played = own.podium("run", "flow.yaml", "--replay", "tapes", "--json")

    assert played.code == 0, played.err
    assert played.data()["usage"]["tokens"] == 11 + 2 + 13 + 3 + 34 + 10
    assert len(server.requests_to()) == calls
    tapes = texts(own.root / "tapes")
    assert sorted(path.name for path in tapes) == ["name.1.json", "paint.1.json", "plan.1.json"]
    for data in tapes.values():
        assert not any(canary.encode() in data for canary in (TOKEN, TOKEN[::-1], KEY))
