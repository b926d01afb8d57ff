"""Bugs for tools/mutants.py: which files a prompt shows."""

from __future__ import annotations

from typing import Final

from tools.mutants_core import Bug

PACK: Final = "tests/context/test_pack.py::"
ATTEMPTS: Final = "tests/attempt/test_code_context.py::"

BUGS: Final = (
    Bug(
        "context: imports take room from interfaces",
        "../context/pack.py",
        "    packer.add_interfaces()\n",
        "    packer.add_imports()\n    packer.add_interfaces()\n",
        (f"{PACK}test_the_parts_come_in_the_order_of_their_claim",),
    ),
    Bug(
        "context: private members are part of the public interface",
        "../context/forms.py",
        "return _apply(content, facts.cuts)",
        "return _apply(content, [cut for cut in facts.cuts if not cut.private])",
        (f"{PACK}test_the_public_interface_shows_no_private_name_and_no_body",),
    ),
    Bug(
        "context: only whole files are redacted",
        "../context/pack.py",
        "clean = self.redact(text)\n        tokens",
        'clean = self.redact(text) if form == "whole" else Redacted(text, 1)\n        tokens',
        (f"{PACK}test_a_secret_is_gone_in_every_form_and_counted_after_that",),
    ),
    Bug(
        "context: folders are listed as they come",
        "../context/forms.py",
        "for folder in sorted(counts):",
        "for folder in counts:",
        (f"{PACK}test_the_order_in_which_files_are_listed_changes_nothing",),
    ),
    Bug(
        "context: later commits are looked at",
        "../attempt/prompt/code_files.py",
        "file_history(host.repository, commit, most=MAX_COMMITS)",
        'file_history(host.repository, "--all", most=MAX_COMMITS)',
        (f"{ATTEMPTS}test_commits_after_the_start_of_the_run_are_not_looked_at",),
    ),
    Bug(
        "context: facts are stored by path",
        "../attempt/prompt/code_files.py",
        "key_of(blob, reader_of(grammar_of(path)))",
        "key_of(path or blob, reader_of(grammar_of(path)))",
        (
            "tests/frontends/test_context_command.py::test_facts_follow_the_content_of_a_file_and_not_its_path",
        ),
    ),
    Bug(
        "context: exclude means include only",
        "../attempt/prompt/packed_files.py",
        "CodeFiles(tree, cache, exclude, unranked=request.own)",
        "CodeFiles(tree, cache, exclude[:0], unranked=request.own)",
        (f"{ATTEMPTS}test_exclude_applies_to_everything_that_is_packed_unasked",),
    ),
    Bug(
        "context: a target is cut silently",
        "../context/pack.py",
        '"signatures", short, "target", note=note)',
        '"signatures", short, "target", note=note[:0])',
        (f"{PACK}test_a_large_target_is_cut_with_a_note_and_keeps_what_the_task_says",),
    ),
    Bug(
        "context: tokens are counted before redaction",
        "../context/pack.py",
        'self.count(f"{path}{reason}{note}{clean.text}")',
        'self.count(f"{path}{reason}{note}{text}")',
        (f"{PACK}test_a_secret_is_gone_in_every_form_and_counted_after_that",),
    ),
    Bug(
        "context: hidden files are deleted at capture",
        "../attempt/workspace/hidden.py",
        "return with_paths(repository, whole, start.tree, sorted(start.files.paths)), created",
        "return whole, created",
        ("tests/attempt/test_hidden.py::test_hidden_files_are_missing_and_come_back_as_they_were",),
    ),
    Bug(
        "context: a file is packed twice",
        "../context/pack.py",
        "path not in self._packed and path in self.files.blobs",
        "path in self.files.blobs",
        (f"{PACK}test_a_file_is_packed_once_and_a_binary_one_is_named",),
    ),
    Bug(
        "context: a Go package is imported as a whole",
        "../context/resolve/go.py",
        "yield from (file for file in sources if file in needed)",
        "yield from (file for file in sources if needed or file)",
        ("tests/context/test_resolve.py::test_an_import_leads_to_its_files",),
    ),
)
