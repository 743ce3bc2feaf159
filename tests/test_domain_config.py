"""The domains in config.toml: what cannot be used is named, and isolation is kept in doubt."""

from __future__ import annotations

import pytest

from memory_fabric.config import read_settings
from memory_fabric.domain_config import DomainConfig, domain_name

HOME = {"HOME": "/home/ann"}


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("legal", "legal"),
        ("Legal Advisor", "legal_advisor"),
        ("legal-advisor", "legal_advisor"),
        ("Steuerrecht (EU)", "steuerrecht_eu"),
        ("Übersetzung", "übersetzung"),
        ("U\u0308bersetzung", "übersetzung"),
        ("--", ""),
        ("x" * 200, "x" * 80),
    ],
)
def test_a_domain_name_is_normalised_to_a_single_spelling(written: str, kept: str) -> None:
    assert domain_name(written) == kept


def test_domains_are_read_from_config_toml() -> None:
    file = {
        "domains": {
            "legal": {"agents": ["legal-advisor"], "paths": ["services/legal"], "isolate": True},
            "Code Review": {"paths": ["~/reviews"]},
        },
        "agents": {
            "security-auditor": {"domain": "Code Review", "isolate": True},
            "notary": {"expert_domain": "legal"},
        },
    }

    settings = read_settings(HOME, file)

    assert settings.complaints == ()
    assert settings.domains == DomainConfig(
        agents={"legal-advisor": "legal", "security-auditor": "code_review", "notary": "legal"},
        paths={"services/legal": "legal", "~/reviews": "code_review"},
        isolated=frozenset(("legal",)),
        isolated_agents=frozenset(("security-auditor",)),
    )


def test_there_are_no_domains_without_a_configuration() -> None:
    settings = read_settings(HOME, {})

    assert (settings.domains, settings.domain) == (DomainConfig(), "")


@pytest.mark.parametrize("table", ["domain", "Domains", "agent", "walls"])
def test_an_unknown_table_in_the_domain_configuration_is_reported(table: str) -> None:
    [complaint] = read_settings(HOME, {table: {"legal": {"isolate": True}}}).complaints

    assert complaint.startswith(f"config.toml: {table} is unknown; known are ")


def test_an_invalid_domain_name_of_a_process_is_reported() -> None:
    settings = read_settings(HOME | {"MEMORY_FABRIC_DOMAIN": "---"}, {})

    assert settings.domain == ""
    assert settings.complaints == ("MEMORY_FABRIC_DOMAIN must be a name, not '---'",)


def test_an_unknown_domain_of_a_process_is_reported_if_domains_are_isolated() -> None:
    file = {"domains": {"legal": {"isolate": True}, "review": {"agents": ["critic"]}}}

    for known in ("legal", "Review"):
        assert read_settings(HOME | {"MEMORY_FABRIC_DOMAIN": known}, file).complaints == ()
    [complaint] = read_settings(HOME | {"MEMORY_FABRIC_DOMAIN": "legl"}, file).complaints
    assert complaint.startswith("MEMORY_FABRIC_DOMAIN is legl, but config.toml has no such domain")


def test_an_environment_variable_sets_the_domain_of_a_process() -> None:
    assert read_settings(HOME | {"MEMORY_FABRIC_DOMAIN": "Legal Advisor"}, {}).domain == (
        "legal_advisor"
    )


@pytest.mark.parametrize(
    ("file", "named"),
    [
        ({"domains": {"legal": {"paths": [""]}}}, "domains.legal.paths"),
        ({"domains": {"legal": {"paths": [3]}}}, "domains.legal.paths"),
        ({"domains": {"legal": True}}, "domains.legal"),
        ({"domains": {"--": {}}}, "domains.--"),
        ({"domains": ["legal"]}, "[domains.NAME]"),
        ({"domains": {"legal": {"isolated": True}}}, "domains.legal.isolated"),
        ({"agents": {"x": {"domain": 3}}}, "agents.x.domain"),
        ({"agents": {"x": {"domain": "!"}}}, "agents.x.domain"),
        ({"agents": {"x": {"expert_domain": []}}}, "agents.x.expert_domain"),
        ({"agents": "x"}, "[agents.NAME]"),
    ],
)
def test_an_invalid_domain_is_reported_and_ignored(file: dict[str, object], named: str) -> None:
    settings = read_settings(HOME, file)

    assert [named in complaint for complaint in settings.complaints] == [True]
    assert settings.domains == DomainConfig()


@pytest.mark.parametrize("agents", ["legal-advisor", ["legal-advisor", 3], ["", "legal-advisor"]])
def test_valid_agent_names_in_a_malformed_list_are_kept(agents: object) -> None:
    settings = read_settings(HOME, {"domains": {"legal": {"agents": agents, "isolate": True}}})

    assert settings.domains.agents == {"legal-advisor": "legal"}
    assert ["domains.legal.agents" in text for text in settings.complaints] == [True]


@pytest.mark.parametrize("value", ["yes", 1, [], {}])
def test_an_invalid_value_of_isolate_counts_as_true_and_is_reported(value: object) -> None:
    file = {"domains": {"legal": {"isolate": value}}, "agents": {"notary": {"isolate": value}}}

    settings = read_settings(HOME, file)

    assert settings.domains.isolated == {"legal"}
    assert settings.domains.isolated_agents == {"notary"}
    assert len(settings.complaints) == 2


@pytest.mark.parametrize(
    "file",
    [
        {"domains": {"legal": {"agents": ["x"]}, "review": {"agents": ["x"]}}},
        {"domains": {"legal": {"agents": ["x"]}}, "agents": {"x": {"domain": "review"}}},
        {"agents": {"x": {"domain": "legal", "expert_domain": "review"}}},
    ],
)
def test_an_agent_listed_in_two_domains_belongs_to_the_first(file: dict[str, object]) -> None:
    settings = read_settings(HOME, file)

    assert settings.domains.agents == {"x": "legal"}
    assert len(settings.complaints) == 1 and "'x'" in settings.complaints[0]


def test_any_part_of_a_domain_configuration_makes_it_configured() -> None:
    names, table = frozenset("x"), {"x": "y"}
    parts = [DomainConfig(agents=table), DomainConfig(paths=table)]
    parts += [DomainConfig(isolated=names), DomainConfig(isolated_agents=names)]

    assert all(part.configured for part in parts) and not DomainConfig().configured


def test_an_agent_that_is_listed_twice_in_one_domain_is_no_mistake() -> None:
    file = {"domains": {"legal": {"agents": ["x", "x"], "isolate": False}}}

    settings = read_settings(HOME, file)

    assert (settings.domains.agents, settings.complaints) == ({"x": "legal"}, ())
    assert settings.domains.isolated == frozenset()
