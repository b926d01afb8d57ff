"""Screens of a terminal become pictures that a browser can read, with every character at its place."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from tools.recording import Frame, _lines, animated, still

SVG = "{http://www.w3.org/2000/svg}"
SCREEN = "\x1b[32mok\x1b[39m a <b> & c\n\x1b[2mdim\nstill dim\x1b[0m end\n\n"


def texts(picture: str) -> list[tuple[str, str | None]]:
    return [(text.text or "", text.get("fill")) for text in ET.fromstring(picture).iter(f"{SVG}text")]


def test_a_picture_has_the_words_of_the_screen_in_their_colours() -> None:
    picture = still(Frame(0, tuple(_lines(SCREEN))))

    assert texts(picture) == [
        ("ok", "#3fb950"),
        ("a <b> & c", None),
        ("dim", "#6e7681"),
        ("still dim", "#6e7681"),
        ("end", None),
    ]


def test_columns_stay_apart_in_a_browser_that_collapses_spaces() -> None:
    picture = still(Frame(0, ("ok plan      passed   2s",)))

    words = [text for text, _ in texts(picture)]
    places = [float(text.get("x") or 0) for text in ET.fromstring(picture).iter(f"{SVG}text")]
    assert words == ["ok plan", "passed", "2s"]
    assert [round((place - places[0]) / 8.4) for place in places] == [0, 13, 22]


def test_a_line_that_several_frames_have_is_stored_once_and_pauses_are_shortened() -> None:
    frames = [Frame(0, ("one",)), Frame(1, ("one", "two")), Frame(61, ("one", "three"))]

    picture = animated(frames)

    assert [text for text, _ in texts(picture)] == ["one", "two", "three"]
    assert picture.count("translateY(") == len(frames)
    assert "animation:play 8.20s" in picture
