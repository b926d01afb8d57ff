"""Changes are reported exactly, and trees are merged as git merges them."""

from __future__ import annotations

import pytest

from podium.git.trees.diff import Change, changed_paths, changes, diff, patch_id
from podium.git.trees.merge import Clashed, Joined, join
from tests.git.kit import Project, git


def test_a_change_has_its_path_status_lines_and_modes(project: Project) -> None:
    project.link()
    start = project.tree()
    folder, snapshot = project.checkout()
    (folder / "README.md").write_text("hello\nworld\n", "utf-8")
    (folder / "bin ary").write_bytes(b"\0\1\2")
    (folder / "src/app.py").unlink()
    (folder / "run.sh").unlink()
    (folder / "run.sh").symlink_to("README.md")
    tree = project.taken(folder, snapshot)

    assert changes(project.repository, start, tree) == (
        Change("README.md", "modified", "100644", "100644", 1, 0, binary=False),
        Change("bin ary", "added", "000000", "100644", 0, 0, binary=True),
        Change("run.sh", "retyped", "100644", "120000", 1, 1, binary=False),
        Change("src/app.py", "removed", "100644", "000000", 0, 1, binary=False),
    )
    assert changed_paths(project.repository, start, tree) == ("README.md", "bin ary", "run.sh", "src/app.py")
    assert changes(project.repository, tree, tree) == ()
    assert changed_paths(project.repository, tree, tree) == ()


def test_a_diff_is_bounded_text_without_renames(project: Project) -> None:
    start = project.tree()
    tree = project.edited(
        "work", {"src/app.py": "print('größer')\n", "z.txt": "line\n" * 1000, "latin": b"\xe9\n"}
    )

    whole = diff(project.repository, start, tree)
    assert "+print('größer')" in whole.text
    assert "+\N{REPLACEMENT CHARACTER}" in whole.text
    assert not whole.cut
    short = diff(project.repository, start, tree, limit=500)
    assert short.cut
    assert len(short.text) <= 500
    assert short.text.endswith("\n")
    one = diff(project.repository, start, tree, paths=("src/app.py",), context=0)
    assert "z.txt" not in one.text


def test_a_rename_is_two_changes_unless_asked_for(project: Project) -> None:
    start = project.tree()
    folder, snapshot = project.checkout()
    (folder / "src/app.py").rename(folder / "src/moved.py")
    tree = project.taken(folder, snapshot)

    assert [change.status for change in changes(project.repository, start, tree)] == ["removed", "added"]
    assert "rename from" not in diff(project.repository, start, tree).text
    assert "rename from src/app.py" in diff(project.repository, start, tree, renames=True).text


def test_the_patch_id_does_not_depend_on_other_lines_of_the_file(project: Project) -> None:
    """X4: an approval stays valid only for an unchanged patch."""
    lines = "".join(f"{n}\n" for n in range(40))
    base = project.edited("a", {"f": lines})
    edited = project.edited("b", {"f": lines.replace("30\n", "thirty\n")}, base)
    grown = project.edited("c", {"f": "new\n" + lines}, base)
    both = project.edited("d", {"f": "new\n" + lines.replace("30\n", "thirty\n")}, base)

    assert patch_id(project.repository, base, edited) == patch_id(project.repository, grown, both)
    assert patch_id(project.repository, base, edited) != patch_id(project.repository, base, grown)
    assert patch_id(project.repository, base, base) == ""


def test_changes_in_different_places_join(project: Project) -> None:
    """X8: members are merged onto the head one by one."""
    start = project.tree()
    one = project.edited("a", {"src/one.py": "1\n", "README.md": "hello\none\n"})
    two = project.edited("b", {"src/two.py": "2\n", "src/app.py": "two\n"})

    joined = join(project.repository, fork=start, onto=one, tree=two)

    assert isinstance(joined, Joined)
    assert {"src/one.py", "src/two.py"} <= set(project.files(joined.tree))
    assert git(project.root, "show", f"{joined.tree}:src/app.py") == "two"


def test_equal_trees_need_no_merge(project: Project) -> None:
    start = project.tree()
    one = project.edited("a", {"x": "1\n"})

    assert join(project.repository, fork=start, onto=start, tree=one) == Joined(one)
    assert join(project.repository, fork=start, onto=one, tree=start) == Joined(one)
    assert join(project.repository, fork=start, onto=one, tree=one) == Joined(one)


def test_without_a_fork_both_sides_are_new(project: Project) -> None:
    one = project.edited("a", {"x": "1\n"})
    two = project.edited("b", {"y": "1\n"})

    joined = join(project.repository, fork=None, onto=one, tree=two)

    assert isinstance(joined, Joined)
    assert {"x", "y"} <= set(project.files(joined.tree))


def test_a_conflict_has_its_path_kind_and_excerpt(project: Project) -> None:
    """The conflict is reported to the worker with context."""
    start = project.tree()
    one = project.edited("a", {"src/app.py": "ours\n", "README.md": "hello\nmore\n"})
    folder, snapshot = project.checkout("b")
    (folder / "README.md").unlink()
    (folder / "src/app.py").write_text("theirs\n", "utf-8")
    two = project.taken(folder, snapshot)

    clashed = join(project.repository, fork=start, onto=one, tree=two)

    assert isinstance(clashed, Clashed)
    by_path = {clash.path: clash for clash in clashed.clashes}
    assert by_path.keys() == {"README.md", "src/app.py"}
    assert by_path["src/app.py"].kind == "CONFLICT (contents)"
    for part in ("<<<<<<<", "ours", "|||||||", "theirs", ">>>>>>>"):
        assert part in by_path["src/app.py"].excerpt
    assert by_path["README.md"].kind == "CONFLICT (modify/delete)"
    assert by_path["README.md"].excerpt == ""


def test_conflicts_of_binary_files_and_links_have_no_excerpt(project: Project) -> None:
    project.link()
    start = project.tree()
    trees = []
    for name in ("a", "b"):
        folder, snapshot = project.checkout(name)
        (folder / "logo.png").write_bytes(b"\0" + name.encode())
        (folder / "link").symlink_to(f"src/{name}")
        trees.append(project.taken(folder, snapshot))

    clashed = join(project.repository, fork=start, onto=trees[0], tree=trees[1])

    assert isinstance(clashed, Clashed)
    assert {clash.excerpt for clash in clashed.clashes} == {""}
    assert any(clash.path == "logo.png" for clash in clashed.clashes)


@pytest.mark.req("R175")
@pytest.mark.parametrize(("ours", "theirs"), [("Notes.md", "notes.md"), ("caf\u00e9.md", "cafe\u0301.md")])
def test_names_that_are_the_same_file_elsewhere_conflict(project: Project, ours: str, theirs: str) -> None:
    """No capture accepts both; neither do two members that add one each (CVE-2024-32002)."""
    start = project.tree()
    one = project.edited("a", {f"docs/{ours}": "1\n"})
    two = project.edited("b", {f"docs/{theirs}": "1\n"})

    clashed = join(project.repository, fork=start, onto=one, tree=two)

    assert isinstance(clashed, Clashed)
    [clash] = clashed.clashes
    assert clash.kind == "NAME"
    assert {ours, theirs} == {clash.path.removeprefix("docs/"), clash.message.split('"')[1]}


def test_existing_names_that_differ_only_in_case_are_accepted(project: Project) -> None:
    project.commit({"docs/Notes.md": "1\n", "docs/notes.md": "2\n"})
    start = project.tree()
    one = project.edited("a", {"one": "1\n"})
    two = project.edited("b", {"two": "2\n"})

    assert isinstance(join(project.repository, fork=start, onto=one, tree=two), Joined)


@pytest.mark.parametrize("attribute", ["merge=union", "merge=ours", "-merge", "merge=evil"])
def test_attributes_of_a_tree_do_not_affect_the_merge(project: Project, attribute: str) -> None:
    git(project.root, "config", "merge.evil.driver", "touch canary")
    project.commit({".gitattributes": f"* {attribute}\n", "f": "1\n2\n3\n4\n5\n6\n7\n"})
    start = project.tree()
    one = project.edited("a", {"f": "one\n2\n3\n4\n5\n6\n7\n"})
    two = project.edited("b", {"f": "1\n2\n3\n4\n5\n6\ntwo\n"})

    joined = join(project.repository, fork=start, onto=one, tree=two)

    assert isinstance(joined, Joined)
    assert git(project.root, "show", f"{joined.tree}:f") == "one\n2\n3\n4\n5\n6\ntwo"
