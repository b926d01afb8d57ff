"""Paths that try to leave a project, by method; `plant` creates the tree for them."""

from __future__ import annotations

import os
import socket
from pathlib import Path

LEXICAL = {
    "nothing": "",
    "absolute": "/etc/passwd",
    "root": "/",
    "two_slashes": "//etc/passwd",
    "three_slashes": "///etc/passwd",
    "absolute_inside": "/project/file",
    "up": "..",
    "up_slash": "../",
    "up_file": "../secret",
    "up_twice": "../../secret",
    "up_far": "../" * 40 + "etc/passwd",
    "down_and_up": "src/../../secret",
    "down_and_up_inside": "src/../file",
    "up_at_the_end": "src/..",
    "up_in_the_middle": "src/../src/file",
    "dot_up": "./../secret",
    "dot_slashes_up": ".//..//secret",
    "deep_up": "a/b/c/../../../../secret",
    "missing_up": "missing/../../secret",
    "nul": "file\0",
    "nul_before_ending": "file\0.txt",
    "nul_up": "..\0/secret",
    "newline": "file\nname",
    "return": "file\rname",
    "tab": "file\tname",
    "escape": "file\x1b[31m",
    "bell": "file\x07",
    "delete": "file\x7f",
    "c1_control": "file\x9b",
    "backslash": "src\\file",
    "backslash_up": "..\\secret",
    "mixed_up": "src/..\\../secret",
    "unc": "\\\\server\\share",
    "verbatim": "\\\\?\\C:\\secret",
    "drive": "C:\\secret",
    "drive_slash": "C:/secret",
    "drive_relative": "c:secret",
    "file_address": "file:///etc/passwd",
    "short_file_address": "file:/etc/passwd",
    "web_address": "http://example.org/x",
    "home": "~",
    "home_file": "~/.ssh/id_rsa",
    "home_of_root": "~root/.ssh/id_rsa",
    "percent_up": "%2e%2e/secret",
    "percent_up_upper": "%2E%2E%2Fsecret",
    "percent_slash": "..%2fsecret",
    "percent_half": ".%2e/secret",
    "percent_backslash": "..%5csecret",
    "percent_twice": "%252e%252e%252fsecret",
    "percent_thrice": "%25252e%25252e/secret",
    "percent_absolute": "%2fetc/passwd",
    "percent_nul": "file%00.txt",
    "percent_newline": "file%0aname",
    "percent_home": "%7e/secret",
    "percent_git": "%2egit/config",
    "fullwidth_dots": "\uff0e\uff0e/secret",
    "fullwidth_slash": "..\uff0fsecret",
    "fullwidth_all": "\uff0e\uff0e\uff0fsecret",
    "fullwidth_backslash": "..\uff3csecret",
    "one_dot_leaders": "\u2024\u2024/secret",
    "two_dot_leader": "\u2025/secret",
    "fullwidth_tilde": "\uff5e/secret",
    "fullwidth_git": ".\uff47\uff49\uff54/config",
    "zero_width_space": "..\u200b/secret",
    "zero_width_joiner": ".\u200d./secret",
    "byte_order_mark": "\ufeff../secret",
    "right_to_left": "file\u202etxt.exe",
    "isolate": "file\u2066name",
    "soft_hyphen": "fi\u00adle",
    "line_separator": "file\u2028name",
    "paragraph_separator": "file\u2029name",
    "surrogate": "file\udcff",
    "overlong_dot": "\udcc0\udcae\udcc0\udcae/secret",
    "three_dots": ".../secret",
    "four_dots": "..../secret",
    "dots_space": ".. /secret",
    "space_dots": " ../secret",
    "only_space": "src/ /file",
    "git": ".git",
    "git_config": ".git/config",
    "git_hook": ".git/hooks/pre-commit",
    "git_capitals": ".GIT/config",
    "git_mixed": "src/.Git/config",
    "git_dot": ".git./config",
    "git_space": ".git /config",
    "git_short_name": "GIT~1/config",
    "git_stream": ".git::$INDEX_ALLOCATION/config",
    "long_name": "n" * 256,
    "long_name_in_bytes": "ü" * 128,
    "long_path": "d/" * 2048 + "file",
}

LINKED = {
    "link_out": "out",
    "link_out_file": "out/secret",
    "link_absolute": "absolute/passwd",
    "link_absolute_file": "passwd",
    "link_absolute_inside": "absolute_inside",
    "link_up": "up/secret",
    "link_up_and_back": "up_and_back",
    "link_chain": "chain/secret",
    "link_lexical_fool": "y",
    "link_below": "src/below/secret",
    "link_to_itself": "circle",
    "link_circle": "ping",
    "link_proc_root": "proc/etc/passwd",
    "link_proc_cwd": "cwd",
    "link_dangling_out": "dangling",
    "link_dots_after_folder": "src/zigzag/secret",
    "link_in_link": "nested/secret",
}

SPECIAL = {"a_named_pipe": "pipe", "a_socket": "socket", "a_folder": "src", "a_device": "null"}


def plant(folder: Path) -> Path:
    """Create a project with a secret next to it and links that lead there."""
    root = folder / "project"
    (root / "src" / "deep").mkdir(parents=True)
    (folder / "outside").mkdir()
    for place in (folder / "secret", folder / "outside" / "secret"):
        place.write_text("secret", "ascii")
    for place in (root / "file", root / "src" / "file"):
        place.write_text("fine", "ascii")
    for name, target in {
        "out": "../outside",
        "absolute": "/etc",
        "passwd": "/etc/passwd",
        "absolute_inside": str((root / "file").absolute()),
        "up": "..",
        "up_and_back": "../project/file",
        "chain": "chain2",
        "chain2": "src/chain3",
        "src/chain3": "../../outside",
        "src/up": "..",
        "y": "src/up/../secret",
        "src/below": "../..",
        "circle": "circle",
        "ping": "pong",
        "pong": "ping",
        "proc": "/proc/self/root",
        "cwd": "/proc/self/cwd",
        "dangling": "../not-there-yet",
        "src/zigzag": "deep/../../../outside",
        "nested": "src/again",
        "src/again": "../out",
        "inner": "src/deep/../file",
        "inner_folder": "./src//",
    }.items():
        (root / name).symlink_to(target)
    os.mkfifo(root / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(root / "socket"))
    return root
