"""Settings from variables and config.toml: a variable wins, a bad value is named and ignored."""

from __future__ import annotations

import pytest

from memory_fabric.config import (
    Rooms,
    config_path,
    domain_name,
    has_display,
    home_path,
    read_settings,
    switches_in,
)

HOME = {"HOME": "/home/ann"}


@pytest.mark.parametrize(
    ("environ", "home"),
    [
        ({}, "/home/ann/.claude/memory-fabric"),
        ({"CLAUDE_CONFIG_DIR": "/etc/claude"}, "/etc/claude/memory-fabric"),
        ({"MEMORY_FABRIC_HOME": "/data/memory"}, "/data/memory"),
        ({"MEMORY_FABRIC_HOME": "~/memory"}, "/home/ann/memory"),
        ({"MEMORY_FABRIC_HOME": "~"}, "/home/ann"),
        ({"MEMORY_FABRIC_HOME": "memory"}, "/home/ann/memory"),
        ({"MEMORY_FABRIC_HOME": "~ann"}, "/home/ann/~ann"),
        ({"MEMORY_FABRIC_HOME": "/data/x/../memory/"}, "/data/memory"),
        ({"MEMORY_FABRIC_HOME": "/a", "CLAUDE_CONFIG_DIR": "/b"}, "/a"),
    ],
)
def test_home_is_where_the_variables_say(environ: dict[str, str], home: str) -> None:
    assert home_path(HOME | environ) == home
    assert read_settings(HOME | environ, {}).home == home


def test_the_clients_folder_is_its_own_variable() -> None:
    assert config_path(HOME) == "/home/ann/.claude"
    assert config_path(HOME | {"CLAUDE_CONFIG_DIR": "~/c"}) == "/home/ann/c"


def test_defaults_are_those_of_the_brief() -> None:
    settings = read_settings(HOME, {})
    assert (settings.dedup_threshold, settings.boost_factor, settings.max_results) == (
        0.85,
        1.2,
        20,
    )
    assert settings.episodes_keep_days == 90
    assert settings.reads and settings.writes and settings.attended and not settings.ci
    assert settings.user_home == "/home/ann"
    assert settings.complaints == ()


@pytest.mark.parametrize("word", ["off", "OFF", "0", "false", "no"])
def test_one_variable_turns_everything_off(word: str) -> None:
    settings = read_settings(HOME | {"MEMORY_FABRIC": word}, {})
    assert not settings.reads and not settings.writes


def test_the_file_can_turn_reading_or_writing_off() -> None:
    assert not read_settings(HOME, {"read": False}).reads
    assert read_settings(HOME, {"read": False}).writes
    assert not read_settings(HOME, {"write": False}).writes


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MEMORY_FABRIC_DEDUP_THRESHOLD", "1.5"),
        ("MEMORY_FABRIC_DEDUP_THRESHOLD", "nan"),
        ("MEMORY_FABRIC_BOOST_FACTOR", "much"),
        ("MEMORY_FABRIC_BOOST_FACTOR", "inf"),
        ("MEMORY_FABRIC_MAX_RESULTS", "0"),
    ],
)
def test_a_number_that_cannot_be_is_named_and_the_default_stands(name: str, value: str) -> None:
    settings = read_settings(HOME | {name: value}, {})
    assert len(settings.complaints) == 1
    assert name in settings.complaints[0] and value in settings.complaints[0]
    assert settings._replace(complaints=()) == read_settings(HOME, {})


def test_numbers_are_read() -> None:
    environ = {"MEMORY_FABRIC_DEDUP_THRESHOLD": "0.9", "MEMORY_FABRIC_MAX_RESULTS": "5"}
    settings = read_settings(HOME | environ, {})
    assert (settings.dedup_threshold, settings.max_results) == (0.9, 5)


@pytest.mark.parametrize(
    "file",
    [
        {"capture": {"unattended": "sometimes"}},
        {"capture": {"unattended": ["low"]}},
        {"episodes": {"keep_days": -1}},
        {"episodes": {"keep_days": True}},
        {"episodes": {"keep_days": "many"}},
        {"notices": 3},
    ],
)
def test_a_bad_value_in_the_file_is_named(file: dict[str, object]) -> None:
    settings = read_settings(HOME, file)
    assert len(settings.complaints) == 1
    assert settings._replace(complaints=()) == read_settings(HOME, {})


@pytest.mark.parametrize("file", [{"capture": 1}, {"episodes": "x"}, {"agent_terms": [1]}])
def test_a_table_that_is_none_is_no_reason_to_fail(file: dict[str, object]) -> None:
    assert read_settings(HOME, file)._replace(complaints=()) == read_settings(HOME, {})


def test_agent_terms_come_from_the_file() -> None:
    settings = read_settings(HOME, {"agent_terms": {"sql-expert": "joins indexes", "bad": 3}})
    assert settings.agent_terms == {"sql-expert": "joins indexes"}


def test_unattended_and_ci_are_seen() -> None:
    settings = read_settings(HOME | {"CLAUDE_CODE_SESSION_ATTENDED": "0", "CI": "true"}, {})
    assert not settings.attended and settings.ci


@pytest.mark.parametrize("value", ["1", "true", "TRUE"])
def test_the_clients_own_switch_for_its_memory_is_respected(value: str) -> None:
    settings = read_settings(HOME | {"CLAUDE_CODE_DISABLE_AUTO_MEMORY": value}, {})
    assert not settings.native_memory


@pytest.mark.parametrize(
    ("environ", "system", "seen"),
    [
        ({}, "linux", False),
        ({"DISPLAY": ":0"}, "linux", True),
        ({"WAYLAND_DISPLAY": "wayland-0"}, "linux", True),
        ({"BROWSER": "firefox"}, "linux", True),
        ({}, "darwin", True),
        ({"SSH_CONNECTION": "x"}, "darwin", False),
    ],
)
def test_a_browser_is_seen_where_there_is_a_display(
    environ: dict[str, str], system: str, seen: bool
) -> None:
    assert has_display(environ, system) is seen


def test_a_switch_that_is_neither_true_nor_false_is_off_and_named() -> None:
    settings = read_settings({}, {"write": "false", "read": True})

    assert (settings.reads, settings.writes) == (True, False)
    assert any("write must be true or false" in complaint for complaint in settings.complaints)


def test_of_a_broken_file_what_it_turns_off_stays_off() -> None:
    broken = "write = false\nnotices = [\nread = true\n"

    assert switches_in(broken) == {"write": False}


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("legal", "legal"),
        ("Legal Advisor", "legal_advisor"),
        ("legal-advisor", "legal_advisor"),
        ("Steuerrecht (EU)", "steuerrecht_eu"),
        ("Übersetzung", "übersetzung"),
        ("--", ""),
        ("x" * 200, "x" * 80),
    ],
)
def test_a_domain_is_kept_in_one_spelling(written: str, kept: str) -> None:
    assert domain_name(written) == kept


def test_rooms_come_from_the_file() -> None:
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
    assert settings.rooms == Rooms(
        agents={"legal-advisor": "legal", "security-auditor": "code_review", "notary": "legal"},
        paths={"services/legal": "legal", "~/reviews": "code_review"},
        isolated=frozenset(("legal",)),
        isolated_agents=frozenset(("security-auditor",)),
    )


def test_without_a_configuration_there_are_no_rooms() -> None:
    settings = read_settings(HOME, {})

    assert (settings.rooms, settings.domain) == (Rooms(), "")


def test_a_process_can_have_a_domain() -> None:
    assert read_settings(HOME | {"MEMORY_FABRIC_DOMAIN": "Legal Advisor"}, {}).domain == (
        "legal_advisor"
    )


@pytest.mark.parametrize(
    ("file", "named"),
    [
        ({"domains": {"legal": {"agents": "legal-advisor"}}}, "domains.legal.agents"),
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
def test_a_room_that_cannot_be_is_named_and_left_out(file: dict[str, object], named: str) -> None:
    settings = read_settings(HOME, file)

    assert [named in complaint for complaint in settings.complaints] == [True]
    assert settings.rooms == Rooms()


@pytest.mark.parametrize("value", ["yes", 1, [], {}])
def test_a_wall_that_is_neither_true_nor_false_stands_and_is_named(value: object) -> None:
    file = {"domains": {"legal": {"isolate": value}}, "agents": {"notary": {"isolate": value}}}

    settings = read_settings(HOME, file)

    assert settings.rooms.isolated == {"legal"}
    assert settings.rooms.isolated_agents == {"notary"}
    assert len(settings.complaints) == 2


@pytest.mark.parametrize(
    "file",
    [
        {"domains": {"legal": {"agents": ["x"]}, "review": {"agents": ["x"]}}},
        {"domains": {"legal": {"agents": ["x"]}}, "agents": {"x": {"domain": "review"}}},
        {"agents": {"x": {"domain": "legal", "expert_domain": "review"}}},
    ],
)
def test_an_agent_of_two_domains_stays_in_the_first(file: dict[str, object]) -> None:
    settings = read_settings(HOME, file)

    assert settings.rooms.agents == {"x": "legal"}
    assert len(settings.complaints) == 1 and "'x'" in settings.complaints[0]
