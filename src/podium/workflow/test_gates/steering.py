"""The files that decide what a tool looks at and how it judges: its settings, plugins, manifests, locks and caches.

Each was tried by running the tool: a file that turned a red result green is here. A gate that starts one of these tools
must also pass with these files from before the judged work. `docs/reference/steering-files.md` is written from this table.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class SteeringFile(NamedTuple):
    glob: str
    effect: str
    """What a change of it can do to the result."""


class SteeredTool(NamedTuple):
    name: str
    tried: str
    """The version that was run; empty if the list comes from its documentation."""
    files: tuple[SteeringFile, ...]
    is_linter: bool = False
    """Judges the code without running tests; only its own files are taken from before the work."""


_OPTIONS: Final = "options: which tests run, what counts as a failure"
_PACKAGE: Final = SteeringFile("**/package.json", "scripts, modules, settings of other tools")
_MODULES: Final = SteeringFile("**/node_modules/**", "a library, a plugin or the runner itself")
_BYTECODE: Final = (
    SteeringFile("**/__pycache__/**", "bytecode that is loaded instead of the code"),
    SteeringFile("**/*.pyc", "bytecode that is loaded instead of the code"),
)


def _files(effect: str, *globs: str) -> tuple[SteeringFile, ...]:
    return tuple(SteeringFile(glob, effect) for glob in globs)


TOOLS: Final = (
    SteeredTool("pytest", "9.2.0", (
        *_files(_OPTIONS, "**/pytest.toml", "**/.pytest.toml", "**/pytest.ini", "**/.pytest.ini", "**/pyproject.toml", "**/tox.ini", "**/setup.cfg"),
        *_files("hooks, fixtures, files to ignore", "**/conftest.py"),
        *_files("a plugin that is loaded by itself", "**/*.egg-info/**", "**/*.dist-info/**"),
        *_files("code that runs before pytest, where the folder is in PYTHONPATH", "**/sitecustomize.py"),
        *_BYTECODE,
    )),
    SteeredTool("pytest-cov", "7.1.0", _files("the least coverage", "**/.coveragerc", "**/.coveragerc.toml")),
    SteeredTool("unittest", "Python 3.11", (
        *_files("code that runs before unittest, where the folder is in PYTHONPATH", "**/sitecustomize.py"),
        *_BYTECODE,
    )),
    SteeredTool("tox", "4.67.13", (
        *_files("the commands it runs", "**/tox.ini", "**/tox.toml", "**/pyproject.toml", "**/setup.cfg"),
        *_files("a plugin of the project", "**/toxfile.py"),
    )),
    SteeredTool("node", "20.20.2", (
        _PACKAGE, _MODULES, *_files("variables, with --env-file: NODE_OPTIONS loads any code", "**/.env"),
    )),
    SteeredTool("npm", "11.19.1", (_PACKAGE, _MODULES, *_files("the shell of scripts, options of node", "**/.npmrc"))),
    SteeredTool("vitest", "4.1.12", (
        *_files(_OPTIONS, "**/vitest.config.*", "**/vite.config.*"),
        *_files("code that runs at the start", "**/postcss.config.*", "**/.postcssrc*"),
        *_files("how TypeScript is translated", "**/tsconfig*.json"),
        *_files("variables that tests read", "**/.env", "**/.env.*"),
        _PACKAGE,
    )),
    SteeredTool("jest", "30.5.2", (
        *_files(_OPTIONS, "**/jest.config.*"),
        *_files("how the code is translated", "**/babel.config.*", "**/.babelrc*"),
        *_files("a stand-in for a library", "**/__mocks__/**"),
        _PACKAGE,
    )),
    SteeredTool("go", "1.19.8", (
        *_files("replaced modules, the version of the language", "**/go.mod", "**/go.work"),
        *_files("an edited library", "**/vendor/**"),
    )),
    SteeredTool("cargo", "1.95.0", (
        *_files("the program that runs the tests, variables, flags", "**/.cargo/config", "**/.cargo/config.toml"),
        *_files("the toolchain: any program as cargo", "**/rust-toolchain", "**/rust-toolchain.toml"),
        *_files("targets without tests or harness, profiles, replaced crates", "**/Cargo.toml"),
        *_files("code that runs before the tests are compiled", "**/build.rs"),
    )),
    SteeredTool("make", "4.3", (
        *_files("what the goal does", "**/Makefile", "**/makefile", "**/GNUmakefile"),
        *_files("an included file: variables, goals, the shell", "**/*.mk"),
    )),
    SteeredTool("ruff", "0.17.4", (
        *_files("rules and files", "**/ruff.toml", "**/.ruff.toml", "**/pyproject.toml"),
        *_files("files that it leaves out", "**/.gitignore", "**/.ignore"),
    ), is_linter=True),
    SteeredTool("flake8", "7.5.0", _files("rules and files", "**/.flake8", "**/setup.cfg", "**/tox.ini"), is_linter=True),
    SteeredTool("mypy", "2.4.1", (
        *_files("strictness, files, plugins", "**/mypy.ini", "**/.mypy.ini", "**/pyproject.toml", "**/setup.cfg"),
    ), is_linter=True),
    SteeredTool("eslint", "10.15.0", (
        *_files("rules and files; the nearest to a file counts", "**/eslint.config.*"),
        *_files("faults that it leaves out", "**/eslint-suppressions.json"),
    ), is_linter=True),
    SteeredTool("tsc", "7.0.2", (
        *_files("strictness and files", "**/tsconfig*.json"),
        _PACKAGE,
    ), is_linter=True),
    SteeredTool("clippy", "0.1.95", (
        *_files("limits of rules", "**/clippy.toml", "**/.clippy.toml"),
        *_files("levels of rules, flags, the toolchain", "**/Cargo.toml", "**/.cargo/config", "**/.cargo/config.toml", "**/rust-toolchain", "**/rust-toolchain.toml"),
    ), is_linter=True),
    SteeredTool("other tools", "", _files(
        "settings of runners and of what starts them",
        "**/noxfile.py", "**/usercustomize.py", "**/*.pth", "**/.yarnrc*", "**/.pnpmfile.*", "**/pnpm-workspace.yaml", "**/bunfig.toml",
        "**/jest.setup.*", "**/vitest.workspace.*", "**/vitest.setup.*", "**/.mocharc*", "**/.nycrc*", "**/karma.conf.*",
        "**/.swcrc", "**/nextest.toml", "**/justfile", "**/Justfile", "**/Taskfile*", "**/Rakefile", "**/.rspec",
        "**/phpunit.xml*", "**/phpunit.dist.xml", "**/pom.xml", "**/build.gradle*", "**/.golangci.*",
        "**/.mvn/**", "**/settings.gradle*", "**/gradle.properties", "**/buildSrc/**", "**/*.runsettings", "**/Directory.Build.*",
        "**/turbo.json", "**/nx.json", "**/.justfile", "**/mise.toml", "**/.mise.toml",
        "**/ava.config.*", "**/.taprc", "**/.c8rc*", "**/playwright.config.*", "**/cypress.config.*", "**/wdio.conf.*",
        "**/web-test-runner.config.*", "**/.cucumber*", "**/node.config.json", "**/deno.json*", "**/import_map.json",
        "**/behave.ini", "**/.behaverc", "**/nose2.cfg", "**/unittest.cfg", "**/.stestr.conf", "**/.green", "**/robot.toml",
        "**/.proverc", "**/.busted", "**/dart_test.yaml", "**/hatch.toml", "**/foundry.toml", "**/hardhat.config.*", "**/.bazelrc",
    )),
    SteeredTool("other linters", "", _files(
        "rules and files",
        "**/.pylintrc", "**/pylintrc", "**/pylintrc.toml", "**/pyrightconfig.json", "**/.isort.cfg", "**/.bandit", "**/biome.json*",
        "**/.prettierrc*", "**/prettier.config.*", "**/.prettierignore", "**/.eslintignore", "**/.stylelintrc*", "**/stylelint.config.*",
        "**/.pre-commit-config.yaml", "**/.oxlintrc.json", "**/.shellcheckrc", "**/.hadolint.y*ml", "**/.rubocop*.yml", "**/.yamllint*", "**/.markdownlint*",
        "**/.editorconfig", "**/staticcheck.conf", "**/detekt.yml", "**/rustfmt.toml", "**/.rustfmt.toml",
    ), is_linter=True),
    SteeredTool("caches", "", _files(
        "results from earlier", "**/.mypy_cache/**", "**/.ruff_cache/**", "**/.eslintcache", "**/*.tsbuildinfo",
    )),
    SteeredTool("lock files", "", _files(
        "they go with their manifest: an installer refuses one without the other",
        "**/package-lock.json", "**/npm-shrinkwrap.json", "**/pnpm-lock.yaml", "**/yarn.lock", "**/bun.lock*",
        "**/uv.lock", "**/uv.toml", "**/poetry.lock", "**/pdm.lock", "**/Pipfile", "**/Pipfile.lock",
    )),
)  # fmt: skip

MANIFESTS: Final = frozenset({"Cargo.toml", "go.mod"})
"""The code does not build without its dependencies in these, so only some of their keys count; see `manifests`."""
LOCKS_OF: Final = {"Cargo.toml": "Cargo.lock", "go.mod": "go.sum"}


def steering_globs(linter: str = "") -> tuple[str, ...]:
    """The files of one linter, else those of all tools that run tests: tests may start anything."""
    tools = [tool for tool in TOOLS if (tool.name == linter if linter else not tool.is_linter)]
    return tuple(dict.fromkeys(file.glob for tool in tools for file in tool.files))


def all_steering_globs() -> tuple[str, ...]:
    """What `$SETTINGS` in `protect` stands for."""
    return tuple(dict.fromkeys(file.glob for tool in TOOLS for file in tool.files))
