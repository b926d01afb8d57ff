"""What workers perform, and what they and the client say when something is missing."""

from __future__ import annotations

import base64
import json
import os
import secrets
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from podium.core.hash_chain import RunId
from podium.runtime.commands import encode_command
from tests.e2e.kit import until
from tests.temporal.kit import Cluster, Server, cluster
from tests.views.kit import conforms

pytestmark = pytest.mark.slow

HEAD = "podium: 1\nname: w\n"
CONFIG = {".podium/config.yaml": "sandbox: limits\n"}
CANARY = "canary7f3a"


def history(server: Server, run: str) -> str:
    """The history of a run as the server has it, with everything that is base64 decoded too."""
    program = Path(sys.executable).parent / "temporal"
    command = (str(program), "workflow", "show", "--workflow-id", run, "--output", "json")
    shown = subprocess.run(
        (*command, "--address", f"127.0.0.1:{server.port}"),
        capture_output=True,
        check=True,
        env={"PATH": os.defpath, "HOME": str(server.folder)},
    ).stdout.decode()
    return shown + "".join(_decoded(json.loads(shown)))


def _decoded(value: Any) -> list[str]:
    match value:
        case dict():
            return [text for inner in value.values() for text in _decoded(inner)]
        case list():
            return [text for inner in value for text in _decoded(inner)]
        case str():
            try:
                return [base64.b64decode(value, validate=True).decode("latin-1")]
            except ValueError:
                return []
        case _:
            return []


def flow_with_canaries() -> dict[str, str]:
    work = f"cat > /dev/null\nmkdir -p {CANARY}\necho {CANARY} > {CANARY}/file\necho {CANARY}\n"
    steps = (
        f"agents: {{hand: {{type: command, command: [sh, work.sh], price: {{input: 0, output: 0}}}}}}\n"
        f"inputs: {{word: string}}\nsteps:\n"
        f'  {CANARY}: {{agent: hand, prompt: "{CANARY} {{{{ inputs.word }}}}", touches: ["{CANARY}/**"]}}\n'
        f'  bad: {{run: ["sh", "-c", "echo {CANARY} >&2; exit 3"], on: {{failed: next}}}}\n'
        f'  ask: {{human: "{CANARY}?", by: [{CANARY}]}}\n'
    )
    return {"w.yaml": HEAD + steps, "work.sh": work, **CONFIG}


@pytest.mark.parametrize("encrypted", [False, True])
def test_with_a_key_nothing_of_a_run_is_readable_on_the_server(
    encrypted: bool, server: Server, tmp_path: Path
) -> None:
    key = {"PODIUM_ENCRYPTION_KEY": base64.b64encode(secrets.token_bytes(32)).decode()} if encrypted else {}
    with cluster(server, tmp_path / "c", flow_with_canaries()) as made:
        made.project.env.update(key)
        made.start_worker()
        ended = made.run("w.yaml", "--json", "-i", f"word={CANARY}")
        assert ended.code == 6, ended.err
        run = ended.data()["run"]
        answered = made.project.podium("reject", run, "ask", "--feedback", CANARY, "--by", CANARY)
        assert answered.code in (0, 4), answered.err
        assert made.follow(run).code == 4
        stored = history(server, run)
    # Without a key, small payloads are stored as they are: the test would see what it looks for.
    assert (CANARY in stored) is not encrypted
    assert "podium.perform" in stored


def test_a_run_that_continues_with_new_histories_has_the_log_of_one_that_does_not(
    server: Server, tmp_path: Path
) -> None:
    steps = "steps:\n  rounds:\n    repeat: {until: \"steps.turn.output == '12'\", max: 20}\n    steps:\n"
    steps += '      turn: {run: {script: "echo t >> turns; wc -l < turns"}, touches: [turns]}\n'
    with cluster(server, tmp_path / "c", {"w.yaml": HEAD + steps, **CONFIG}) as made:
        made.start_worker()
        whole = made.run("w.yaml", "--json").data()["run"]
        made.project.env["PODIUM_HISTORY"] = "40"
        parts = made.run("w.yaml", "--json").data()["run"]
        assert made.kinds(parts) == made.kinds(whole)
        assert made.project.podium("verify", parts).code == 0
        listed = history(server, parts)
    assert "continuedExecutionRunId" in listed


def test_a_command_sent_twice_is_followed_once_and_late_ones_are_refused(
    server: Server, tmp_path: Path
) -> None:
    from podium.core.messages import Approve
    from podium.core.types import Address

    steps = "steps:\n  ask: {human: 'Go on?'}\n  more: {human: 'Really?'}\n"
    with cluster(server, tmp_path / "c", {"w.yaml": HEAD + steps, **CONFIG}) as made:
        made.start_worker()
        run = made.run("w.yaml", "--json").data()["run"]
        body = dict(encode_command(Approve(Address("ask"), "approve", "ann")))
        assert {say(server, run, "same", body) for _ in range(50)} == {"done"}
        assert made.follow(run).code == 6
        assert [e["path"] for e in made.project.events(RunId(run)) if e["type"] == "ApprovalGiven"] == ["ask"]
        assert made.project.podium("approve", run, "more").code == 0
        assert made.follow(run).code == 0
        late = made.project.podium("approve", run, "more")
        assert (late.code, "Traceback" in late.err) == (2, False)
        assert say(server, run, "same", body) == "done"


def say(server: Server, run: str, key: str, body: dict[str, Any]) -> Any:
    import asyncio

    from podium.temporal.connection import connect, parse_address

    async def send() -> Any:
        client = await connect(parse_address(server.address))
        return await client.get_workflow_handle(run).execute_update("podium.send", args=[key, body], id=key)

    return asyncio.run(send())


def test_a_step_runs_where_its_label_is_and_a_lacking_secret_is_passed_on(
    server: Server, tmp_path: Path
) -> None:
    steps = (
        "secrets: [TOKEN]\nsteps:\n"
        '  here: {run: ["sh", "-c", "echo $WHO"], env: [WHO], runs_on: [special]}\n'
        '  secret: {run: ["sh", "-c", "test -n \\"$TOKEN\\" && echo $WHO"], env: [WHO], secrets: [TOKEN]}\n'
    )
    with cluster(server, tmp_path / "c", {"w.yaml": HEAD + steps, **CONFIG}) as made:
        made.start_worker("--label", "special", WHO="one", TOKEN="abcdefgh12345")
        made.start_worker(WHO="two")
        ended = made.run("w.yaml", "--json")
        assert ended.code == 0, ended.err
        run = RunId(ended.data()["run"])
        texts = {
            e["path"]: e["result"]["text"] for e in made.project.events(run) if e["type"] == "AttemptEnded"
        }
    assert texts == {"here": "one\n", "secret": "one\n"}


def test_one_machine_refuses_a_label_that_it_does_not_have(server: Server, tmp_path: Path) -> None:
    steps = "steps:\n  a: {run: 'true', runs_on: [gpu]}\n  b: {run: 'true', runs_on: [gpu, local]}\n"
    with cluster(server, tmp_path / "c", {"w.yaml": HEAD + steps, **CONFIG}) as made:
        ended = made.project.podium("run", "w.yaml")
        assert ended.code == 2
        assert 'step "a" has runs_on: gpu, and nothing here serves that' in ended.err
        assert 'step "b"' not in ended.err
        assert made.project.podium("runs", "--json").out.strip() == "[]"


def test_steps_of_a_folder_are_named_at_the_start_and_wait_for_a_worker_there(
    server: Server, tmp_path: Path
) -> None:
    steps = "steps:\n  a: {run: 'touch here', workspace: inplace}\n  b: {run: 'true'}\n"
    with cluster(server, tmp_path / "c", {"w.yaml": HEAD + steps, **CONFIG}) as made:
        made.start_worker()
        started = made.run("w.yaml", "--detach")
        assert started.code == 0, started.err
        assert "  a: workspace: inplace means this folder\n" in started.err
        assert f"podium worker --home --only --on {made.server.address}" in started.err
        run = started.out.strip()
        assert "AttemptEnded" not in made.kinds(run)
        made.start_home()
        assert made.follow(run).code == 0
        assert (made.project.root / "here").is_file()


def test_a_colleague_with_a_clone_finds_and_answers_what_waits_for_them(
    server: Server, tmp_path: Path
) -> None:
    steps = (
        "people: {leads: [eva, tom]}\nsteps:\n  make: {run: {script: 'echo made > made.txt'}, touches: [made.txt]}\n"
        "  ask: {human: 'Is it right?', by: [leads]}\n"
    )
    with cluster(server, tmp_path / "c", {"w.yaml": HEAD + steps, **CONFIG}) as made:
        made.start_worker()
        run = made.run("w.yaml", "--json").data()["run"]
        assert [view["run"] for view in listed(made, "--waiting-for", "eva")] == [run]
        assert listed(made, "--waiting-for", "ann") == []
        with colleague(made, tmp_path / "d") as other:
            assert listed(other, "--on", server.address, "--waiting-for", "ann") == []
            (found,) = listed(other, "--on", server.address, "--waiting-for", "eva")
            assert (found["run"], found["status"]) == (run, "waiting")
            assert "made.txt" in other.project.podium("diff", run).out
            answered = other.project.podium("approve", run, "--by", "eva")
            assert answered.code == 0, answered.err
            assert other.project.podium("verify", run).code == 0
            assert listed(other, "--on", server.address) == []
        assert made.follow(run).code == 0
        assert [e["by"] for e in made.project.events(RunId(run)) if e["type"] == "ApprovalGiven"] == ["eva"]


def listed(made: Cluster, *options: str) -> Any:
    shown = made.project.podium("runs", "--json", *options)
    assert shown.code == 0, shown.err
    return shown.data()


@contextmanager
def colleague(made: Cluster, folder: Path) -> Iterator[Cluster]:
    """Another person with a clone of the project and a home of their own."""
    with cluster(made.server, folder, {"own.txt": "1\n"}) as other:
        other.project.git("fetch", "-q", str(made.exchange), "main")
        other.project.git("reset", "-q", "--hard", "FETCH_HEAD")
        yield other


def test_doctor_tells_whether_a_cluster_is_ready(server: Server, tmp_path: Path) -> None:
    with cluster(server, tmp_path / "c", CONFIG) as made:
        away = made.project.podium("doctor", "--on", "temporal://127.0.0.1:1", "--json").data()
        assert (away["ok"], away["cluster"]["server"]) == (False, "")
        conforms(away, "doctor")
        made.start_home()
        made.start_worker()
        ready = made.project.podium("doctor", "--on", server.address, "--json")
        data = ready.data()["cluster"]
        conforms(ready.data(), "doctor")
        assert (ready.code, data["problems"], data["home"], data["searchable"]) == (0, [], ["home"], True)
        assert "w2" in data["workers"]
        made.exchange.rename(made.exchange.with_name("gone.git"))
        lacking = made.project.podium("doctor", "--on", server.address)
        assert lacking.code == 1
        assert "does not work" in lacking.out


def test_recordings_are_refused_on_workers_and_a_home_needs_a_repository(
    server: Server, tmp_path: Path
) -> None:
    with cluster(
        server, tmp_path / "c", {"w.yaml": f"{HEAD}steps:\n  a: {{run: 'true'}}\n", **CONFIG}
    ) as made:
        ended = made.run("w.yaml", "--record", "here")
        assert ended.code == 2
        assert "--record reads or writes a folder of this machine" in ended.err
        command = (sys.executable, "-m", "podium", "worker", "--home", "--on", made.server.address)
        nowhere = subprocess.run(
            command, cwd=tmp_path, env=made.project.environment(), capture_output=True, text=True, check=False
        )
        assert nowhere.returncode == 2
        assert "is not in a git repository, so no run was started there" in nowhere.stderr


def test_a_server_that_is_not_there_and_a_wrong_address_are_said_in_words(
    server: Server, tmp_path: Path
) -> None:
    with cluster(
        server, tmp_path / "c", {"w.yaml": f"{HEAD}steps:\n  a: {{run: 'true'}}\n", **CONFIG}
    ) as made:
        away = made.project.podium("run", "w.yaml", "--on", "temporal://127.0.0.1:1")
        assert (away.code, "does not answer" in away.err, "Traceback" in away.err) == (1, True, False)
        wrong = made.project.podium("run", "w.yaml", "--on", "localhost:7233")
        assert (wrong.code, "is not the address of a Temporal server" in wrong.err) == (2, True)
        assert made.project.podium("runs", "--json").out.strip() == "[]"


def test_two_clients_copy_the_same_log(server: Server, tmp_path: Path) -> None:
    """A process that only looks, while another one follows."""
    steps = 'steps:\n  a: {run: ["sh", "-c", "sleep 2; echo done"]}\n'
    with cluster(server, tmp_path / "c", {"w.yaml": HEAD + steps, **CONFIG}) as made:
        made.start_worker()
        run = made.start_run("w.yaml")
        follower = made.project.start("resume", run)
        until(lambda: made.project.podium("show", run).code == 0, "a view of the run")
        assert follower.wait(timeout=60) == 0, made.project.talk()
        assert made.project.podium("verify", run).code == 0


def test_other_commands_do_not_import_the_library() -> None:
    code = (
        "import sys; from podium.frontends.cli.main import podium\n"
        "podium.main(['run', '--help'], standalone_mode=False)\n"
        "assert 'temporalio' not in sys.modules and 'podium.temporal' not in sys.modules"
    )
    subprocess.run((sys.executable, "-c", code), check=True, stdout=subprocess.DEVNULL)
