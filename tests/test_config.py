"""Settings from variables and config.toml: a variable wins, a bad value is named and ignored."""

from __future__ import annotations

import os
import platform
import threading

import pytest

from memory_fabric import config
from memory_fabric.config import (
    NO_MEMORY_MD,
    captures,
    config_path,
    has_display,
    home_path,
    may_isolate,
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
def test_an_environment_variable_sets_the_memory_home(environ: dict[str, str], home: str) -> None:
    assert home_path(HOME | environ) == home
    assert read_settings(HOME | environ, {}).home == home


def test_claude_config_dir_sets_the_config_folder_of_the_client() -> None:
    assert config_path(HOME) == "/home/ann/.claude"
    assert config_path(HOME | {"CLAUDE_CONFIG_DIR": "~/c"}) == "/home/ann/c"


def test_settings_have_the_specified_defaults_if_nothing_is_configured() -> None:
    settings = read_settings(HOME, {})
    assert (settings.dedup_threshold, settings.boost_factor, settings.max_results) == (
        0.85,
        1.2,
        20,
    )
    assert settings.episodes_keep_days == 90
    assert settings.reads and settings.writes and settings.attended and not settings.ci
    assert settings.user_home == "/home/ann"
    assert settings.origin == platform.node()
    assert settings.complaints == ()


@pytest.mark.parametrize("word", ["off", "OFF", "0", "false", "no"])
def test_one_environment_variable_disables_memory_completely(word: str) -> None:
    settings = read_settings(HOME | {"MEMORY_FABRIC": word}, {})
    assert not settings.reads and not settings.writes


def test_config_toml_can_disable_reading_or_writing() -> None:
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
def test_an_invalid_number_is_reported_and_the_default_applies(name: str, value: str) -> None:
    settings = read_settings(HOME | {name: value}, {})
    assert len(settings.complaints) == 1
    assert name in settings.complaints[0] and value in settings.complaints[0]
    assert settings._replace(complaints=()) == read_settings(HOME, {})


def test_numbers_in_environment_variables_are_parsed() -> None:
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
def test_an_invalid_value_in_config_toml_is_reported(file: dict[str, object]) -> None:
    settings = read_settings(HOME, file)
    assert len(settings.complaints) == 1
    assert settings._replace(complaints=()) == read_settings(HOME, {})


@pytest.mark.parametrize("file", [{"capture": 1}, {"episodes": "x"}, {"agent_terms": [1]}])
def test_a_plain_value_in_place_of_a_table_in_config_toml_is_ignored(
    file: dict[str, object],
) -> None:
    assert read_settings(HOME, file)._replace(complaints=()) == read_settings(HOME, {})


def test_extra_search_terms_for_an_agent_are_read_from_config_toml() -> None:
    settings = read_settings(HOME, {"agent_terms": {"sql-expert": "joins indexes", "bad": 3}})
    assert settings.agent_terms == {"sql-expert": "joins indexes"}


def test_unattended_runs_and_ci_are_detected() -> None:
    settings = read_settings(HOME | {"CLAUDE_CODE_SESSION_ATTENDED": "0", "CI": "true"}, {})
    assert not settings.attended and settings.ci


@pytest.mark.parametrize("name", NO_MEMORY_MD)
def test_a_variable_that_disables_the_clients_memory_also_disables_memory_md(name: str) -> None:
    for value in ("1", "true", "TRUE", "yes", "on "):
        assert read_settings(HOME | {name: value}, {}).memory_md_off == name
    for value in ("", "0", "false", "no"):
        assert read_settings(HOME | {name: value}, {}).memory_md_off == ""


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
def test_environment_variables_show_whether_there_is_a_graphical_display(
    environ: dict[str, str], system: str, seen: bool
) -> None:
    assert has_display(environ, system) is seen


def test_an_invalid_value_of_read_or_write_counts_as_off_and_is_reported() -> None:
    settings = read_settings({}, {"write": "false", "read": True})

    assert (settings.reads, settings.writes) == (True, False)
    assert any("write must be true or false" in complaint for complaint in settings.complaints)


def test_a_switch_turned_off_in_an_invalid_config_file_is_respected() -> None:
    broken = "write = false\nnotices = [\nread = true\n"

    assert switches_in(broken) == {"write": False}


@pytest.mark.parametrize(
    "line",
    [
        "isolate = true",
        "isolate=true",
        '"isolate" = true',
        "domains.legal.isolate = true",
        "legal = { agents = ['x'], isolate = true }",
        "isolate = falsehood",
        'isolate = "false"',
        "isolate",
        "isolate = false\nisolate = true",
        "# isolate = true",
    ],
)
def test_an_invalid_config_file_that_mentions_isolation_isolates_domains(line: str) -> None:
    assert may_isolate(f"[domains.legal]\n{line}\nnotices = [\n")


@pytest.mark.parametrize(
    "text",
    ["", "notices = [", "isolate = false", "'isolate'=false # x", "{ isolate = false, agents = ["],
)
def test_an_invalid_config_file_that_does_not_mention_isolation_isolates_nothing(text: str) -> None:
    assert not may_isolate(text)


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
def test_sessions_are_captured_unless_a_setting_disables_capture(
    environ: dict[str, str], file: dict[str, object], kept: bool
) -> None:
    assert captures(read_settings(HOME | environ, file)) == kept


def test_server_limits_in_config_toml_must_be_positive_whole_numbers() -> None:
    stated = read_settings({}, {"serve": {"rate": 50, "backlog": 10}})
    wrong = read_settings({}, {"serve": {"rate": 0, "backlog": True}})

    assert (stated.serve_rate, stated.serve_backlog, stated.complaints) == (50, 10, ())
    assert (wrong.serve_rate, wrong.serve_backlog) == (2000, 250_000)
    assert wrong.complaints == (
        "config.toml: serve.rate must be a whole number from 1 to 1000000, not 0",
        "config.toml: serve.backlog must be a whole number from 1 to 100000000, not True",
    )


def test_the_environment_of_a_hook_event_is_not_visible_in_other_threads() -> None:
    seen = []
    with config.answering({"HOME": "/of/the/event"}):
        thread = threading.Thread(target=lambda: seen.append(config.environment() is os.environ))
        thread.start()
        thread.join()
        assert config.environment() == {"HOME": "/of/the/event"}
        with config.answering({}):
            assert config.environment() == {}
    assert seen == [True] and config.environment() is os.environ
