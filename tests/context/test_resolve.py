"""Which files an import means: a table of cases for each language, on projects of a few files."""

from __future__ import annotations

import pytest

from tests.context.projects import MemoryFiles

PY = {
    "pkg/__init__.py": "from .core import Thing\nfrom .deep import *\n",
    "pkg/core.py": "class Thing:\n    pass\n",
    "pkg/deep/__init__.py": "from .inner import far\n",
    "pkg/deep/inner.py": "def far():\n    pass\n",
    "pkg/a.py": "",
    "src/lib/__init__.py": "",
    "src/lib/util.py": "def helper():\n    pass\n",
    "top.py": "",
    "other/util.py": "",
    "stub/__init__.pyi": "",
    "one/conf.py": "",
    "two/conf.py": "",
    "two/use.py": "",
}
PYTHON = [
    ("pkg/a.py", "import top", ["top.py"]),
    ("pkg/a.py", "import os, sys", []),
    ("pkg/a.py", "import pkg.core", ["pkg/core.py"]),
    ("pkg/a.py", "import pkg.core as c", ["pkg/core.py"]),
    ("pkg/a.py", "from pkg import core", ["pkg/core.py"]),
    ("pkg/a.py", "from . import core", ["pkg/core.py"]),
    ("pkg/a.py", "from .core import Thing", ["pkg/core.py"]),
    ("pkg/deep/inner.py", "from ..core import Thing", ["pkg/core.py"]),
    ("pkg/deep/inner.py", "from ... import top", ["top.py"]),
    ("pkg/a.py", "from .... import x", []),
    ("top.py", "from pkg import Thing", ["pkg/__init__.py", "pkg/core.py"]),
    ("top.py", "from pkg import far", ["pkg/__init__.py", "pkg/deep/__init__.py", "pkg/deep/inner.py"]),
    ("top.py", "from pkg.core import *", ["pkg/core.py"]),
    ("top.py", "from lib import util", ["src/lib/util.py"]),
    ("top.py", "import lib.util", ["src/lib/util.py"]),
    ("top.py", "from lib.util import missing", ["src/lib/util.py"]),
    ("two/use.py", "import conf", ["two/conf.py"]),
    ("two/use.py", "from two import conf", ["two/conf.py"]),
    ("top.py", "import stub", ["stub/__init__.pyi"]),
    ("pkg/core.py", "from pkg import core", []),
    ("pkg/core.py", "from pkg import a\n", ["pkg/a.py"]),
]
TS = {
    "tsconfig.json": """{
        // paths with comments
        "compilerOptions": {"baseUrl": ".", "paths": {"@app/*": ["src/app/*"], "exact": ["src/exact.ts"],},},
    }""",
    "src/app/a.ts": "",
    "src/app/b.tsx": "",
    "src/app/index.ts": "",
    "src/exact.ts": "",
    "src/lib/index.js": "",
    "src/lib/c.mts": "",
    "src/types.d.ts": "",
    "src/data.json": "{}",
    "src/main.ts": "",
    "packages/core/package.json": '{"name": "@org/core", "main": "dist/index.js"}',
    "packages/core/src/index.ts": "",
    "packages/core/src/extra.ts": "",
    "packages/plain/package.json": '{"name": "plain", "types": "types.d.ts"}',
    "packages/plain/types.d.ts": "",
    "nested/tsconfig.json": '{"extends": "../tsconfig.json"}',
    "nested/x.ts": "",
}
SCRIPT = [
    ("src/main.ts", "import {x} from './app/a';", ["src/app/a.ts"]),
    ("src/main.ts", "import {x} from './app/a.js';", ["src/app/a.ts"]),
    ("src/main.ts", "import {x} from './app/b.js';", ["src/app/b.tsx"]),
    ("src/main.ts", "import {x} from './app';", ["src/app/index.ts"]),
    ("src/main.ts", "import {x} from './lib';", ["src/lib/index.js"]),
    ("src/main.ts", "import {x} from './lib/c.mjs';", ["src/lib/c.mts"]),
    ("src/main.ts", "import type {T} from './types';", ["src/types.d.ts"]),
    ("src/main.ts", "import data from './data.json';", ["src/data.json"]),
    ("src/main.ts", "export * from './exact';", ["src/exact.ts"]),
    ("src/main.ts", "const a = require('./app/a');", ["src/app/a.ts"]),
    ("src/main.ts", "async () => { await import('./app/a'); };", ["src/app/a.ts"]),
    ("src/main.ts", "import {x} from '@app/b';", ["src/app/b.tsx"]),
    ("src/main.ts", "import x from 'exact';", ["src/exact.ts"]),
    ("src/main.ts", "import x from 'src/lib';", ["src/lib/index.js"]),
    ("src/main.ts", "import x from '@org/core';", ["packages/core/src/index.ts"]),
    ("src/main.ts", "import x from '@org/core/extra';", ["packages/core/src/extra.ts"]),
    ("src/main.ts", "import x from 'plain';", ["packages/plain/types.d.ts"]),
    ("src/main.ts", "import x from 'react';", []),
    ("src/main.ts", "import x from './missing';", []),
    ("src/main.ts", "import x from '../../outside';", []),
    ("nested/x.ts", "import {x} from '@app/a';", ["src/app/a.ts"]),
]
GO_FILES = {
    "go.mod": "module example.org/app // the module\n\ngo 1.22\n",
    "main.go": "package main\n",
    "store/a.go": "package store\n\ntype DB struct{}\n",
    "store/b.go": "package store\n\nfunc Open() {}\n",
    "store/a_test.go": "package store\n\nfunc Helper() {}\n",
    "util/v2/u.go": "package util\n\nfunc Do() {}\n",
    "near.go": "package main\n\nfunc helper() {}\n",
}
GO = [
    ("main.go", 'import "example.org/app/store"\nvar x store.DB', ["store/a.go"]),
    ("main.go", 'import s "example.org/app/store"\nfunc f() { s.Open() }', ["store/b.go"]),
    ("main.go", 'import . "example.org/app/store"', ["store/a.go", "store/b.go"]),
    ("main.go", 'import _ "example.org/app/store"', []),
    ("main.go", 'import "fmt"\nfunc f() { fmt.Println() }', []),
    ("main.go", 'import "example.org/app/util/v2"\nfunc f() { util.Do() }', ["util/v2/u.go"]),
    ("main.go", 'import "example.org/app/store"\nfunc f() { store.Helper() }', []),
    ("main.go", "func f() { helper() }", ["near.go"]),
]
RS = {
    "Cargo.toml": '[workspace]\nmembers = ["core", "my-app"]\n',
    "core/Cargo.toml": '[package]\nname = "core-lib"\n',
    "core/src/lib.rs": "mod a;\n",
    "core/src/a.rs": "mod deep;\n",
    "core/src/a/deep.rs": "",
    "core/src/b/mod.rs": "",
    "my-app/Cargo.toml": '[package]\nname = "my-app"\n',
    "my-app/src/main.rs": "",
}
RUST = [
    ("core/src/lib.rs", "mod a;", ["core/src/a.rs"]),
    ("core/src/lib.rs", "mod b;", ["core/src/b/mod.rs"]),
    ("core/src/a.rs", "mod deep;", ["core/src/a/deep.rs"]),
    ("core/src/a.rs", "use crate::b::Thing;", ["core/src/b/mod.rs"]),
    ("core/src/a/deep.rs", "use super::Other;", ["core/src/a.rs"]),
    ("core/src/a/deep.rs", "use super::super::b;", ["core/src/b/mod.rs"]),
    ("core/src/a.rs", "use self::deep::X;", ["core/src/a/deep.rs"]),
    ("core/src/lib.rs", "use crate::{a::deep::X, b};", ["core/src/a/deep.rs", "core/src/b/mod.rs"]),
    ("my-app/src/main.rs", "use core_lib::a::Thing;", ["core/src/a.rs"]),
    ("my-app/src/main.rs", "use std::io;", []),
    ("core/src/lib.rs", "mod inline { fn f() {} }", []),
]
JV = {
    "src/main/java/a/A.java": "package a;\npublic class A { public static class Inner {} }\n",
    "src/main/java/a/B.java": "package a;\npublic class B {}\n",
    "src/main/java/b/C.java": "package b;\npublic class C { public static int f() { return 1; } }\n",
    "src/main/java/b/D.java": "package b;\ninterface D {}\n",
    "src/test/java/a/A.java": "package a;\npublic class A {}\n",
    "src/main/java/a/U.java": "",
}
JAVA = [
    ("src/main/java/a/U.java", "package a;\nimport b.C;\nclass U { }", ["src/main/java/b/C.java"]),
    ("src/main/java/a/U.java", "package a;\nimport static b.C.f;\nclass U { }", ["src/main/java/b/C.java"]),
    ("src/main/java/a/U.java", "package a;\nimport b.*;\nclass U { D d; }", ["src/main/java/b/D.java"]),
    ("src/main/java/a/U.java", "package a;\nclass U { B b; }", ["src/main/java/a/B.java"]),
    ("src/main/java/a/U.java", "package a;\nclass U extends A { }", ["src/main/java/a/A.java"]),
    ("src/main/java/a/U.java", "package z;\nimport a.A.Inner;\nclass U { }", ["src/main/java/a/A.java"]),
    ("src/main/java/a/U.java", "package a;\nimport java.util.List;\nclass U { }", []),
]
CASES = [
    *((PY, *case) for case in PYTHON),
    *((TS, *case) for case in SCRIPT),
    *((GO_FILES, *case) for case in GO),
    *((RS, *case) for case in RUST),
    *((JV, *case) for case in JAVA),
]


@pytest.mark.req("R086")
@pytest.mark.parametrize(("files", "importer", "text", "expected"), CASES)
def test_an_import_leads_to_its_files(
    files: dict[str, str], importer: str, text: str, expected: list[str]
) -> None:
    has_package = files is GO_FILES
    project = MemoryFiles({**files, importer: f"package main\n{text}\n" if has_package else f"{text}\n"})

    assert sorted(edge.target for edge in project.graph().edges_from(importer)) == sorted(expected)


def test_the_table_has_at_least_sixty_cases() -> None:
    assert len(CASES) >= 60


def test_each_edge_has_its_kind() -> None:
    """Cycles count only what is loaded with a module."""
    text = (
        "from typing import TYPE_CHECKING\nimport pkg.core\nif TYPE_CHECKING:\n    import top\n"
        "def f():\n    import other.util\n"
    )
    edges = MemoryFiles({**PY, "pkg/a.py": text}).graph().edges_from("pkg/a.py")

    assert {edge.target: edge.kind for edge in edges} == {
        "pkg/core.py": "load",
        "top.py": "types",
        "other/util.py": "lazy",
    }


def test_a_circle_of_imports_ends() -> None:
    files = {
        "a/__init__.py": "from .b import x\n",
        "a/b/__init__.py": "from .. import x\n",
        "use.py": "from a import x\n",
    }

    assert [edge.target for edge in MemoryFiles(files).graph().edges_from("use.py")] == [
        "a/__init__.py",
        "a/b/__init__.py",
    ]


def test_who_imports_a_file_is_counted_by_names() -> None:
    files = {
        "core.py": "def a():\n    pass\n",
        "one.py": "from core import a, b\n",
        "two.py": "import core\n",
        "three.py": "",
    }

    assert MemoryFiles(files).graph().importers_of(["core.py"]) == {"one.py": 2, "two.py": 1}
