"""The example pack of domain roles: it can be installed, and each of its roles is what its base role is, and more."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.app.author.role_packs import install, open_pack
from podium.app.author.roles import check_roles, list_roles, show_role
from tests.docs.page_files import ROOT
from tests.workflow.kit import write

PACK = ROOT / "examples/domain_roles"
OVERLAYS = sorted(path.stem for path in (PACK / "roles").glob("*.yaml"))


@pytest.mark.req("R078")
def test_the_domain_roles_install_and_refine_their_base_roles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = write(tmp_path / "project", {})
    monkeypatch.chdir(project)
    home = project / ".podium"
    install(open_pack(str(PACK), home=home, project=project, user_dir=None, replace=False), home)

    found = {role.name: role for role in list_roles(project)}

    wanted = "trader risk_manager quant_dev ui_designer state_architect cli_ux_dev schema_guard etl_architect api_dev"
    assert {*wanted.split(), "security_auditor", "infra_reviewer"} <= found.keys()
    assert check_roles(project).problems == ()
    for name in OVERLAYS:
        role, base = show_role(name, project).value, show_role(str(found[name].extends), project).value
        assert role["system"].startswith(base["system"].strip())
        assert len(role["system"]) > len(base["system"]) + 200
        assert set(base["strengths"]) < set(role["strengths"])
    assert show_role("trader", project).value["gates"][0]["on_fail"] == "block"
