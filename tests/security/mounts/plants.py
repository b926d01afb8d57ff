"""Files that a hostile process writes so that the host shows a later process something private.

Each kind leads to a private folder of its own, so that whoever sees that folder tells which kind worked. `{private}` is
that folder: it has the file `key`, the programs `bin/tool` and `bin/check`, the library `lib/secret.py` and the socket
`socket`. `{kind}` is the name of the kind, and `{place}` the folder in which it is planted.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Plant(NamedTuple):
    files: dict[str, str]
    """Executable files by path in the folder of the plant."""
    links: dict[str, str]
    """Links by path."""


_ENVIRONMENT: Final = {"pyvenv.cfg": "home = {private}/bin\n"}
_ENV: Final = "#!/usr/bin/env"

PLANTS: Final = {
    "environment_python_is_a_link_to_a_file": Plant(_ENVIRONMENT, {"bin/python": "{private}/key"}),
    "environment_python_is_a_link_to_a_program": Plant(_ENVIRONMENT, {"bin/python": "{private}/bin/tool"}),
    "environment_python_is_a_link_to_a_folder": Plant(_ENVIRONMENT, {"bin/python": "{private}"}),
    "environment_python_is_a_link_to_a_socket": Plant(_ENVIRONMENT, {"bin/python": "{private}/socket"}),
    "environment_python_names_an_interpreter": Plant(
        {**_ENVIRONMENT, "bin/python": "#!{private}/bin/tool\n"}, {}
    ),
    "environment_python_names_a_key_as_interpreter": Plant(
        {**_ENVIRONMENT, "bin/python": "#!{private}/key -x\n"}, {}
    ),
    "environment_python_asks_env_for_a_path": Plant(
        {**_ENVIRONMENT, "bin/python": f"{_ENV} {{private}}/bin/tool\n"}, {}
    ),
    "environment_python_hides_a_path_in_an_option": Plant(
        {**_ENVIRONMENT, "bin/python": f"{_ENV} -S -u {{private}}/bin/tool python3\n"}, {}
    ),
    "environment_bin_is_a_link": Plant(_ENVIRONMENT, {"bin": "{private}/bin"}),
    "environment_through_two_links": Plant(
        _ENVIRONMENT, {"bin/python": "second", "bin/second": "{private}/bin/tool"}
    ),
    "environment_of_conda": Plant({"conda-meta/history": ""}, {"bin/python": "{private}/bin/tool"}),
    "folder_venv": Plant(
        {f"venv/{name}": text for name, text in _ENVIRONMENT.items()},
        {"venv/bin/python": "{private}/bin/tool"},
    ),
    "folder_dot_venv": Plant(
        {f".venv/{name}": text for name, text in _ENVIRONMENT.items()}, {".venv/bin/python": "{private}/key"}
    ),
    "folder_env": Plant(
        {f"env/{name}": text for name, text in _ENVIRONMENT.items()},
        {"env/bin/python3": "{private}/bin/tool"},
    ),
    "folder_venv_is_a_link": Plant({}, {"venv": "{private}"}),
    "folder_node_modules": Plant({}, {"node_modules/.bin/tool": "{private}/bin/tool"}),
    "folder_node_modules_is_a_link": Plant({}, {"node_modules": "{private}"}),
    "program_named_like_the_next": Plant({"python3": "#!{private}/bin/tool\n"}, {}),
    "script_names_an_interpreter": Plant({"{kind}/check": "#!{private}/bin/tool\n"}, {}),
    "script_asks_env_for_a_path": Plant({"{kind}/check": f"{_ENV} {{private}}/bin/tool\n"}, {}),
    "script_hides_a_path_in_an_option": Plant(
        {"{kind}/check": f"{_ENV} -S -u {{private}}/bin/tool python3\n"}, {}
    ),
    "script_hides_a_path_after_chdir": Plant({"{kind}/check": f"{_ENV} -S -C {{private}} python3\n"}, {}),
    "script_names_a_script": Plant(
        {"{kind}/check": "#!{place}/{kind}/second\n", "{kind}/second": "#!{private}/bin/tool\n"}, {}
    ),
    "script_is_a_link_to_a_program": Plant({}, {"{kind}/check": "{private}/bin/tool"}),
    "script_is_a_link_to_a_key": Plant({}, {"{kind}/check": "{private}/key"}),
    "folder_of_the_script_is_a_link": Plant({}, {"{kind}": "{private}/bin"}),
}
SCRIPTS: Final = tuple(name for name in PLANTS if "script" in name)
"""Kinds whose file `check` a later process starts."""


def groups() -> list[tuple[str, ...]]:
    """All kinds in groups that can be planted together: no two use the same path, and links are apart from files.

    Outside the files that a capture accepts, a single refused link would keep the rest from the next process.
    """
    made: list[tuple[list[str], set[str], bool]] = []
    for kind, plant in PLANTS.items():
        tops = {path.replace("{kind}", kind).split("/")[0] for path in (*plant.files, *plant.links)}
        for kinds, used, has_links in made:
            if not tops & used and has_links == bool(plant.links):
                kinds.append(kind)
                used |= tops
                break
        else:
            made.append(([kind], tops, bool(plant.links)))
    return [tuple(kinds) for kinds, _, _ in made]
