"""Settings from variables and config.toml: a variable wins, a bad value is named and ignored."""

from __future__ import annotations

import pytest

from memory_fabric.config import (
    Rooms,
    captures,
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


class TestReceiver:
    @pytest.mark.parametrize(
        ("stated", "url"),
        [
            ("https://memory.example", "https://memory.example/v1/memory/ingest"),
            ("http://localhost:8002/", "http://localhost:8002/v1/memory/ingest"),
            ("HTTPS://Memory.Example/in", "https://memory.example/in"),
            ("http://[::1]:8002", "http://[::1]:8002/v1/memory/ingest"),
            ("http://h?team=a", "http://h/v1/memory/ingest?team=a"),
            ("  http://127.0.0.1:1/x?y=1 ", "http://127.0.0.1:1/x?y=1"),
        ],
    )
    def test_an_address_without_a_path_gets_that_of_ingest(self, stated: str, url: str) -> None:
        settings = read_settings(HOME | {"MEMORY_FABRIC_FORWARD_URL": stated}, {})
        assert settings.forward_url == url
        assert settings.complaints == ()

    @pytest.mark.parametrize(
        "stated",
        [
            "memory.example",
            "ftp://memory.example",
            "file:///etc/passwd",
            "https://",
            "https:///path",
            "http://:8002",
            "http://host:port",
            "http://host:0",
            "http://host:70000",
            "http://[::1",
            "http://ann:pw@host",
            "http://ho st",
            "http://host/\r\nX-Y: 1",
            "http://hôte",
            "http://host/#part",
        ],
    )
    @pytest.mark.parametrize("name", ["MEMORY_FABRIC_FORWARD_URL", "MOE_MEMORY_ENDPOINT"])
    def test_one_that_cannot_be_used_is_named_and_nothing_is_forwarded(
        self, name: str, stated: str
    ) -> None:
        settings = read_settings(HOME | {name: stated}, {})
        assert (settings.forward_url, settings.forward_key) == ("", "")
        assert [name in complaint for complaint in settings.complaints] == [True]
        assert "pw" not in settings.complaints[0]

    def test_each_address_has_its_own_key(self) -> None:
        brief = {"MOE_MEMORY_ENDPOINT": "http://moe", "MOE_API_KEY": "k1"}
        found = read_settings(HOME | brief, {})
        assert (found.forward_url, found.forward_key) == ("http://moe/v1/memory/ingest", "k1")

        ours = {"MEMORY_FABRIC_FORWARD_URL": "http://ours"}
        assert read_settings(HOME | brief | ours, {}).forward_key == ""

        keyed = ours | {"MEMORY_FABRIC_FORWARD_KEY": "k2"}
        found = read_settings(HOME | brief | keyed, {})
        assert (found.forward_url, found.forward_key) == ("http://ours/v1/memory/ingest", "k2")

    def test_a_key_that_would_break_a_header_is_named_but_not_shown(self) -> None:
        environ = {"MEMORY_FABRIC_FORWARD_URL": "http://h", "MEMORY_FABRIC_FORWARD_KEY": "a\r\nb"}
        settings = read_settings(HOME | environ, {})
        assert settings.forward_url == ""
        assert settings.complaints[0].startswith("MEMORY_FABRIC_FORWARD_KEY holds a character")

    def test_a_key_alone_does_nothing(self) -> None:
        settings = read_settings(HOME | {"MOE_API_KEY": "k"}, {})
        assert (settings.forward_url, settings.forward_key) == ("", "")


@pytest.mark.parametrize(
    ("environ", "file", "kept"),
    [
        ({}, {}, True),
        ({"CI": "true"}, {}, False),
        ({"MEMORY_FABRIC": "off"}, {}, False),
        ({}, {"write": False}, False),
        ({}, {"capture": {"unattended": "off"}}, True),
        ({"CLAUDE_CODE_SESSION_ATTENDED": "0"}, {}, True),
        ({"CLAUDE_CODE_SESSION_ATTENDED": "0"}, {"capture": {"unattended": "off"}}, False),
    ],
)
def test_what_is_said_is_kept_unless_something_says_otherwise(
    environ: dict[str, str], file: dict[str, object], kept: bool
) -> None:
    assert captures(read_settings(HOME | environ, file)) == kept


def test_what_the_server_may_bear_is_a_whole_number() -> None:
    stated = read_settings({}, {"serve": {"rate": 50, "backlog": 10}})
    wrong = read_settings({}, {"serve": {"rate": 0, "backlog": True}})

    assert (stated.serve_rate, stated.serve_backlog, stated.complaints) == (50, 10, ())
    assert (wrong.serve_rate, wrong.serve_backlog) == (2000, 250_000)
    assert wrong.complaints == (
        "config.toml: serve.rate must be a whole number from 1 to 1000000, not 0",
        "config.toml: serve.backlog must be a whole number from 1 to 100000000, not True",
    )


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
