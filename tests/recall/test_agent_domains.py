"""The domain of an agent: by its type, its folder or its name; and isolation in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memory_fabric.config import Settings, read_settings
from memory_fabric.recall.agent_domains import AgentDomain, domain_for, isolates, stated_name


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A monorepo with two services."""
    top = tmp_path / "shop"
    (top / ".git").mkdir(parents=True)
    for service in ("legal", "billing"):
        (top / "services" / service / "src").mkdir(parents=True)
    return top


def configured(place: Path, file: dict[str, Any], **environ: str) -> Settings:
    home = {"HOME": str(place.parent), "CLAUDE_PROJECT_DIR": str(place)}
    return read_settings(home | environ, file)


def legal(*, isolate: bool = False, **table: Any) -> dict[str, Any]:
    return {"domains": {"legal": {"isolate": isolate, **table}}}


@pytest.mark.parametrize(
    ("agent_type", "domain"),
    [
        ("", "general"),
        ("general-purpose", "general"),
        ("Explore", "general"),
        ("code-reviewer", "code_reviewer"),
        ("shop:Code_Reviewer", "code_reviewer"),
        ("!!!", "general"),
    ],
)
def test_an_unconfigured_agent_type_gets_its_domain_from_its_name(
    tmp_path: Path, agent_type: str, domain: str
) -> None:
    assert domain_for(configured(tmp_path, {}), agent_type) == AgentDomain(domain)


@pytest.mark.parametrize("written", ["legal-advisor", "Legal Advisor", "shop:legal-advisor"])
def test_an_agent_type_has_its_configured_domain_in_any_spelling(
    tmp_path: Path, written: str
) -> None:
    settings = configured(tmp_path, legal(agents=[written]))

    assert domain_for(settings, "shop:legal-advisor") == AgentDomain("legal", stated=True)
    assert domain_for(settings, "code-critic") == AgentDomain("code_critic")


def test_the_domain_configured_for_an_agent_overrides_its_folder_and_its_name(
    repository: Path,
) -> None:
    file = legal(paths=["services/legal"]) | {"agents": {"critic": {"domain": "review"}}}
    settings = configured(repository / "services/legal", file)

    assert domain_for(settings, "critic") == AgentDomain("review", stated=True)
    assert domain_for(settings, "poem-writer") == AgentDomain("legal")
    assert domain_for(settings) == AgentDomain("legal")


@pytest.mark.parametrize(
    ("place", "domain"),
    [
        ("services/legal", "legal"),
        ("services/legal/src", "legal"),
        ("services/billing", "general"),
        (".", "general"),
    ],
)
def test_a_relative_path_is_resolved_in_the_repository_of_the_session(
    repository: Path, place: str, domain: str
) -> None:
    settings = configured(repository / place, legal(paths=["services/legal/"]))

    assert domain_for(settings).name == domain


def test_a_configured_folder_domain_does_not_apply_to_similarly_named_folders(
    repository: Path,
) -> None:
    other = repository / "examples/services/legal"
    other.mkdir(parents=True)
    beside = repository / "services/legal-old"
    beside.mkdir()
    file = legal(paths=["services/legal"])

    assert domain_for(configured(other, file)).name == "general"
    assert domain_for(configured(beside, file)).name == "general"


def test_the_deepest_configured_folder_decides_the_domain(repository: Path) -> None:
    file = {
        "domains": {"shop": {"paths": ["."]}, "law": {"paths": ["services/legal"]}},
    }

    assert domain_for(configured(repository / "services/legal/src", file)).name == "law"
    assert domain_for(configured(repository / "services/billing", file)).name == "shop"


def test_a_linked_worktree_uses_the_configured_paths_of_its_repository(repository: Path) -> None:
    worktree = repository.parent / "shop-hotfix"
    (worktree / "services/legal").mkdir(parents=True)
    own = repository / ".git/worktrees/shop-hotfix"
    own.mkdir(parents=True)
    (own / "commondir").write_text("../..\n")
    (worktree / ".git").write_text(f"gitdir: {own}\n")

    settings = configured(worktree / "services/legal", legal(paths=["services/legal"]))

    assert domain_for(settings).name == "legal"


def test_symbolic_links_are_resolved_in_both_paths(repository: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "contracts"
    elsewhere.mkdir()
    (repository / "contracts").symlink_to(elsewhere)
    (tmp_path / "link").symlink_to(repository)
    in_repository = legal(paths=["contracts"])

    assert domain_for(configured(repository / "contracts", in_repository)).name == "legal"
    through = configured(tmp_path / "link/services/legal", legal(paths=["services/legal"]))
    assert domain_for(through).name == "legal"
    absolute = legal(paths=[str(tmp_path / "link/services/legal")])
    assert domain_for(configured(repository / "services/legal", absolute)).name == "legal"


def test_a_tilde_in_a_path_means_the_home_of_the_user(repository: Path) -> None:
    file, home = legal(paths=["~/shop/services/legal"]), str(repository.parent)
    inside = configured(repository / "services/legal", file, HOME=home)
    outside = configured(repository / "services/billing", file, HOME=home)

    assert domain_for(inside).name == "legal"
    assert domain_for(outside).name == "general"


def test_the_domain_of_another_folder_can_be_looked_up(repository: Path) -> None:
    settings = configured(repository, legal(paths=["services/legal"]))

    assert domain_for(settings, place=str(repository / "services/legal")).name == "legal"
    assert domain_for(settings, place=str(repository / "services/gone")).name == "general"


def test_agents_and_folders_of_an_isolated_domain_see_only_that_domain(repository: Path) -> None:
    file = legal(isolate=True, agents=["legal-advisor"], paths=["services/legal"])
    inside, outside = repository / "services/legal", repository / "services/billing"
    isolated = AgentDomain("legal", stated=True, isolated=True)

    assert domain_for(configured(outside, file), "legal-advisor") == isolated
    assert domain_for(configured(outside, file), "legal") == isolated
    assert domain_for(configured(inside, file)) == isolated
    assert domain_for(configured(outside, file)) == AgentDomain()


@pytest.mark.parametrize(
    "written", ["Avocat-Ge\u0301ne\u0301ral", "AVOCAT général", "p:avocat-général:"]
)
def test_isolation_of_an_agent_type_applies_to_every_spelling_of_its_name(
    repository: Path, written: str
) -> None:
    settings = configured(repository, legal(isolate=True, agents=["avocat-général"]))

    assert domain_for(settings, written) == AgentDomain("legal", stated=True, isolated=True)


def test_a_configured_agent_domain_does_not_override_an_isolated_folder(repository: Path) -> None:
    file = legal(isolate=True, paths=["services/legal"])
    file |= {"agents": {"critic": {"domain": "review"}, "hermit": {"isolate": True}}}
    settings = configured(repository / "services/legal", file)

    assert domain_for(settings, "critic") == AgentDomain("legal", stated=True, isolated=True)
    assert domain_for(settings, "poem-writer") == AgentDomain("legal", stated=True, isolated=True)
    assert domain_for(settings, "hermit") == AgentDomain("hermit", stated=True, isolated=True)


def test_the_environment_variable_sets_the_domain_of_a_process(repository: Path) -> None:
    variable = {"MEMORY_FABRIC_DOMAIN": "Legal"}

    assert domain_for(configured(repository, {}, **variable)) == AgentDomain("legal")
    isolated = configured(repository, legal(isolate=True), **variable)
    assert domain_for(isolated) == AgentDomain("legal", stated=True, isolated=True)


def test_isolating_the_general_domain_affects_only_agents_without_a_domain(tmp_path: Path) -> None:
    settings = configured(tmp_path, {"domains": {"general": {"isolate": True}}})

    assert domain_for(settings) == AgentDomain("general", isolated=True)
    assert domain_for(settings, "code-critic") == AgentDomain("code_critic")


def test_isolation_is_in_use_if_a_domain_or_an_agent_type_is_isolated(tmp_path: Path) -> None:
    hermit = {"agents": {"hermit": {"isolate": True}}}

    assert isolates(configured(tmp_path, legal(isolate=True)))
    assert isolates(configured(tmp_path, hermit))
    assert not isolates(configured(tmp_path, legal()))


def test_a_specified_domain_name_is_normalised_and_contains_no_secret() -> None:
    secret = "hun" + "ter42"

    assert stated_name("Legal Advisor") == "legal_advisor"
    assert secret not in stated_name(f"password={secret}")
