"""A passkey is added, used for an answer that asks for presence, and removed, with Chromium's virtual authenticator."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.browser.conftest import Watched
from tests.browser.site import FILES, WORKFLOW, Pages, Site, wait_for

pytest.importorskip("webauthn")

Serve = Callable[..., Pages]
FLOW = WORKFLOW.replace("    show: [diff, verdicts]\n", "    show: [diff, verdicts]\n    presence: true\n")
FORM = 'form[action="/settings/passkeys"]'
CONFLICT = "console: Failed to load resource: the server responded with a status of 409"


def authenticator(page: Any, *, verifies: bool = True) -> tuple[Any, str]:
    """A security key in software that belongs to this page; returns its session and id."""
    session = page.context.new_cdp_session(page)
    session.send("WebAuthn.enable")
    options = {
        "protocol": "ctap2",
        "transport": "internal",
        "hasResidentKey": True,
        "hasUserVerification": True,
        "isUserVerified": verifies,
        "automaticPresenceSimulation": True,
    }
    made = session.send("WebAuthn.addVirtualAuthenticator", {"options": options})
    return session, made["authenticatorId"]


def add_passkey(page: Any, pages: Pages, name: str) -> None:
    page.goto(f"{pages.base}/settings")
    page.fill("#passkey-name", name)
    page.locator(FORM).get_by_role("button", name="Add").click()
    page.get_by_text(f"The passkey {name} was added.").wait_for(state="visible")


@pytest.fixture
def asks(site: Site) -> str:
    site.put({**FILES, "ship.yaml": FLOW})
    return site.begin("The total must take the discount into account.")


@pytest.mark.req("R195")
def test_a_person_adds_a_passkey_approves_with_it_and_removes_it(
    site: Site, asks: str, watched: Watched, serve: Serve
) -> None:
    pages = serve(site)
    page = watched.page(pages)
    authenticator(page)
    question = f"{pages.base}/runs/{asks}/decide/approve"
    page.goto(question)
    page.get_by_role("link", name="Add one in the settings").click()
    add_passkey(page, pages, "laptop")
    listed = json.loads(site.podium("passkeys", "--json"))["passkeys"]
    assert [(key["person"], key["name"]) for key in listed] == [("ada", "laptop")]

    page.goto(question)
    page.fill("#words", "Read and tried.\nTwo lines.")
    page.click('button[value="approve"]')
    page.wait_for_url(f"{pages.base}/runs/{asks}?**")
    assert wait_for(lambda: site.status(asks) == "passed", "the end of the run")
    page.locator(".state .status.passed").wait_for(state="visible")
    assert "ada, by web, with a passkey" in page.inner_text("#decided")
    (given,) = [event for event in events_of(site, asks) if event["type"] == "ApprovalGiven"]
    assert given["data"]["proof"]["credential"] == listed[0]["id"]
    site.podium("verify", asks)

    page.goto(f"{pages.base}/settings")
    page.get_by_role("button", name="Remove the passkey laptop").click()
    page.get_by_text("The passkey laptop was removed.").wait_for(state="visible")
    assert json.loads(site.podium("passkeys", "--json"))["passkeys"] == []


def events_of(site: Site, run: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in site.podium("events", run, "--json").splitlines()]


def test_without_the_person_nothing_is_sent_and_rejecting_needs_no_passkey(
    site: Site, asks: str, watched: Watched, serve: Serve
) -> None:
    pages = serve(site)
    watched.allowed = (CONFLICT,)
    page = watched.page(pages)
    session, key = authenticator(page)
    add_passkey(page, pages, "phone")
    session.send("WebAuthn.setUserVerified", {"authenticatorId": key, "isUserVerified": False})
    page.goto(f"{pages.base}/runs/{asks}/decide/approve")
    page.click('button[value="approve"]')
    page.get_by_text("Nothing was sent: the passkey was not used.").wait_for(state="visible")
    assert site.status(asks) == "parked"

    plain = watched.page(pages, java_script_enabled=False)
    plain.goto(f"{pages.base}/runs/{asks}/decide/approve")
    plain.click('button[value="approve"]')
    assert "this answer needs your passkey" in plain.inner_text('[role="alert"]')
    assert site.status(asks) == "parked"

    page.fill("#words", "Round to cents.")
    page.click('button[value="reject"]')
    page.wait_for_url(f"{pages.base}/runs/{asks}?**")
    wait_for(
        lambda: any(each["path"] == "approve~2" for each in site.data(asks)["pending"]), "the next question"
    )


def test_a_passkey_of_another_authenticator_signs_nothing(
    site: Site, asks: str, watched: Watched, serve: Serve
) -> None:
    """A cookie that was copied into another browser does not bring the passkey with it."""
    pages = serve(site)
    mine, other = watched.page(pages), watched.page(pages)
    authenticator(mine)
    authenticator(other)
    add_passkey(mine, pages, "mine")
    other.goto(f"{pages.base}/runs/{asks}/decide/approve")
    other.click('button[value="approve"]')
    other.get_by_text("Nothing was sent").wait_for(state="visible")
    assert site.status(asks) == "parked"


def test_an_address_of_numbers_says_where_passkeys_work(
    site: Site, asks: str, watched: Watched, serve: Serve
) -> None:
    pages = serve(site)
    base = f"http://127.0.0.1:{pages.port}"
    numbers = Pages(f"{base}/#key={pages.key}", pages.process)
    page = watched.page(numbers)
    page.goto(f"{base}/runs/{asks}/decide/approve")
    assert "works at localhost only" in page.inner_text("#subject")
    page.goto(f"{base}/settings")
    assert page.locator("#passkey-name").count() == 0
