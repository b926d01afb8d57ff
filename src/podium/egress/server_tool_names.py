"""The words of model APIs for what their servers run, fetch or look up. Field names are in the form of `normalized`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple


class TopKey(NamedTuple):
    name: str
    """The name of `server_tools` that allows it."""
    is_needed: bool = False
    """Whether the rest of the request means something else without it, so that it cannot be removed."""


TOP_KEYS: Final[Mapping[str, TopKey]] = {
    "mcpservers": TopKey("mcp"),
    "connectors": TopKey("mcp"),
    "container": TopKey("code_execution"),
    "websearchoptions": TopKey("web_search"),
    "searchparameters": TopKey("web_search"),
    "enablesearch": TopKey("web_search"),
    "plugins": TopKey("web_search"),
    "datasources": TopKey("files"),
    "toolresources": TopKey("files"),
    "fileids": TopKey("files", is_needed=True),
    "cachedcontent": TopKey("stored", is_needed=True),
    "previousresponseid": TopKey("stored", is_needed=True),
    "conversation": TopKey("stored", is_needed=True),
    "prompt": TopKey("stored", is_needed=True),
    "background": TopKey("stored", is_needed=True),
}
"""Fields of a whole request. A `prompt` counts if it is an object, which names a stored one."""

LOOKUP_FIELDS: Final[Mapping[str, str]] = {
    "fileid": "files",
    "fileids": "files",
    "fileuri": "files",
    "vectorstoreids": "files",
}
LOOKUP_TYPES: Final[Mapping[str, str]] = {
    "container_upload": "files",
    "item_reference": "stored",
    "mcp_approval_response": "mcp",
}
"""Fields and types of content that only the vendor can resolve."""
ADDRESSED: Final = frozenset({"url", "image", "document", "file", "video", "audio"})
"""Types of content whose `url` the vendor fetches; in others it is the address of a citation."""

OWN_TYPES: Final = re.compile(
    r"function|custom|local_shell|apply_patch|(?:bash|text_editor|memory)_\d{8}"
    r"|tool_search(?:_tool_(?:regex|bm25)(?:_\d{8})?)?"
)
"""Types of tools that the caller runs itself, and the search among the tools of the request."""
SERVER_TYPES: Final[tuple[tuple[re.Pattern[str], str], ...]] = tuple(
    (re.compile(pattern), name)
    for pattern, name in (
        (r"web_?search.*|google_?search.*|google_?maps|enterprise_?web_?search", "web_search"),
        (r"web_?fetch.*|url_?context", "web_fetch"),
        (r"code_?execution.*|code_?interpreter|bash_code_?execution.*|shell", "code_execution"),
        (r"file_?search|retrieval", "files"),
        (r"mcp|mcp_toolset|mcp_?servers", "mcp"),
        (r"computer.*", "computer"),
        (r"image_?generation", "image_generation"),
    )
)
SEARCHING: Final = re.compile(r"(?:^|[-_/:])(?:search-(?:preview|api)|deep-research)(?![a-z])|:online$")
"""Models of some vendors that search the web without a tool."""
DECLARATIONS: Final = "functiondeclarations"


def normalized(key: str) -> str:
    """Servers accept `mcp_servers` and `mcpServers`, and some ignore case."""
    return key.replace("_", "").replace("-", "").casefold()


def tool_names(fields: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Each word of a tool in a request, and the name that allows it: `own` if the caller runs it, empty if none does."""
    kind = fields.get("type")
    if kind is not None:
        word = str(kind)
        is_own = OWN_TYPES.fullmatch(word) or (word == "shell" and _is_local(fields.get("environment")))
        yield word, "own" if is_own else _name_of(word)
        return
    # Without a type it is a function of Anthropic, or an object of Gemini with one field for each kind.
    is_function = {"name", "inputschema"} <= set(fields)
    if is_function or not fields:
        yield "a tool without a type", "own" if is_function else ""
    for key in fields:
        name = "own" if key == DECLARATIONS else _name_of(key)
        if name or not is_function:
            yield key, name


def _is_local(environment: Any) -> bool:
    return isinstance(environment, Mapping) and environment.get("type") == "local"


def _name_of(word: str) -> str:
    return next((name for pattern, name in SERVER_TYPES if pattern.fullmatch(word.casefold())), "")


def model_tool(model: Any) -> str | None:
    """What a model does without being told to."""
    return "web_search" if isinstance(model, str) and SEARCHING.search(model.casefold()) else None


def is_data_url(address: str) -> bool:
    return address.lstrip()[:5].casefold() == "data:"
