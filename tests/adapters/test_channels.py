"""The channels themselves: what arrives at a webhook, at a mail server, at a program and on the desktop."""

from __future__ import annotations

import email
import json
import stat
import time
from email import policy
from pathlib import Path

import pytest

from podium.adapters.channels.open import open_channel
from podium.core.types import Millis
from podium.ports.channel import ChannelError, ChannelMessage, ChannelSettings
from podium.process.host_programs import keep_out
from tests.sinks import KEY, dead_port, http_sink, silent_server, smtp_sink, verified

MESSAGE = ChannelMessage(
    "msg_1",
    "asked",
    "ship: ok waits\r\nBcc: evil@example.com",
    "Ship it?\nanyone may answer",
    {"run": "r1"},
    Millis(5),
)
ENV = {"HOOK_KEY": KEY, "PATH": "/usr/bin:/bin"}


def webhook(url: str) -> ChannelSettings:
    return ChannelSettings("hook", webhook=url, secret="HOOK_KEY")


def test_a_webhook_is_signed_and_a_receiver_can_verify_it() -> None:
    with http_sink() as sink:
        open_channel(webhook(sink.url), ENV).send(MESSAGE)

    (delivery,) = sink.deliveries
    document = verified(delivery, KEY, time.time())
    assert (delivery.id, delivery.path) == ("msg_1", "/hook?x=1")
    assert document["type"] == "podium.asked"
    assert document["data"]["run"] == "r1"
    with pytest.raises(AssertionError, match="not signed"):
        verified(delivery, "whsec_" + "A" * 32, time.time())


def test_the_address_and_the_key_come_from_the_environment() -> None:
    with http_sink() as sink:
        settings = webhook("${{ env.HOOK_URL }}")
        assert open_channel(settings, ENV).fault() == "HOOK_URL is not set in the environment"
        open_channel(settings, {**ENV, "HOOK_URL": sink.url}).send(MESSAGE)

    assert len(sink.deliveries) == 1


def test_a_redirect_is_not_followed() -> None:
    with http_sink(status=302) as sink, pytest.raises(ChannelError, match="it answered with status 302"):
        open_channel(webhook(sink.url), ENV).send(MESSAGE)

    assert [each.path for each in sink.deliveries] == ["/hook?x=1"]


def test_a_webhook_that_nobody_answers_fails_without_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("podium.adapters.channels.webhook.TIMEOUT_S", 0.3)
    with silent_server() as port:
        for url in (f"http://127.0.0.1:{port}/token", f"http://127.0.0.1:{dead_port()}/token"):
            with pytest.raises(ChannelError) as error:
                open_channel(webhook(url), ENV).send(MESSAGE)
            assert "token" not in error.value.message
            assert "127" not in error.value.message


@pytest.mark.parametrize(
    ("url", "key", "fault"),
    [
        ("ftp://127.0.0.1/x", KEY, "its address does not begin with https:// or http://"),
        ("http://[::1", KEY, "its address is not a URL"),
        ("https://127.0.0.1/x", "short", "its key is shorter than 24 bytes in base64"),
    ],
)
def test_what_is_wrong_with_a_webhook_is_known_without_sending(url: str, key: str, fault: str) -> None:
    assert open_channel(webhook(url), {"HOOK_KEY": key}).fault() == fault


def test_a_mail_arrives_with_its_id_and_no_header_of_its_own() -> None:
    pytest.importorskip("apprise")
    with smtp_sink() as sink:
        address = f"mailto://127.0.0.1:{sink.port}?from=podium@example.com&to=ann@example.com&mode=insecure"
        channel = open_channel(ChannelSettings("mail", url=address), ENV)
        assert channel.fault() == ""
        channel.send(MESSAGE)

    (mail,) = sink.mails
    message = email.message_from_string(mail, policy=policy.default)
    assert message["Bcc"] is None
    assert "ship: ok waits Bcc: evil@example.com" in str(message["Subject"])
    body = message.get_body(("plain",))
    assert body is not None
    assert "Ship it?" in body.get_content()
    assert "message msg_1" in body.get_content()


def test_a_service_that_is_down_or_unknown_fails_without_its_address(
    capfd: pytest.CaptureFixture[str],
) -> None:
    pytest.importorskip("apprise")
    address = f"json://user:password@127.0.0.1:{dead_port()}"
    with pytest.raises(ChannelError, match="the service did not accept the message"):
        open_channel(ChannelSettings("x", url=address), ENV).send(MESSAGE)
    assert (
        open_channel(ChannelSettings("x", url="bogus"), ENV).fault()
        == "its address is not one that apprise knows"
    )

    assert "password" not in "".join(capfd.readouterr())


def program(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    file = folder / name
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    return file


def test_a_command_gets_the_message_as_json_and_its_main_fields_in_the_environment(tmp_path: Path) -> None:
    out = tmp_path / "out"
    script = f'cat > {out}; echo "$PODIUM_MESSAGE_ID $PODIUM_MESSAGE_KIND" > {out}.env'
    open_channel(ChannelSettings("c", command=("sh", "-c", script)), ENV).send(MESSAGE)

    assert json.loads(out.read_text())["id"] == "msg_1"
    assert Path(f"{out}.env").read_text() == "msg_1 asked\n"


def test_a_command_that_fails_is_missing_or_belongs_to_a_project_is_refused(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    keep_out(project)
    own = program(project / "bin", "tell", "exit 0")
    with pytest.raises(ChannelError, match="sh ended with code 3"):
        open_channel(ChannelSettings("c", command=("sh", "-c", "exit 3")), ENV).send(MESSAGE)
    assert open_channel(ChannelSettings("c", command=("no-such-program",)), ENV).fault() == (
        "no-such-program is not installed"
    )
    assert open_channel(ChannelSettings("c", command=(str(own),)), ENV).fault() == "tell belongs to a project"


def test_the_desktop_shows_words_that_look_like_options_as_words(tmp_path: Path) -> None:
    out = tmp_path / "out"
    program(tmp_path / "bin", "notify-send", f'printf "%s\\n" "$@" > {out}')
    env = {"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin", "DISPLAY": ":0"}
    message = ChannelMessage("msg_1", "asked", "--help", "-x", {}, Millis(5))

    open_channel(ChannelSettings("d", desktop=True), env).send(message)

    assert out.read_text().splitlines() == ["--app-name=Podium", "--urgency=critical", "--", "--help", "-x"]


def test_a_process_without_a_desktop_says_so_instead_of_sending_into_nothing(tmp_path: Path) -> None:
    program(tmp_path / "bin", "notify-send", "exit 0")
    channel = open_channel(ChannelSettings("d", desktop=True), {"PATH": str(tmp_path / "bin")})

    with pytest.raises(ChannelError, match="belongs to no desktop session"):
        channel.send(MESSAGE)
