"""Settings from variables and config.toml: a variable wins, a bad value is named and ignored."""

from __future__ import annotations

import os
import platform
import threading

import pytest

from memory_fabric import config
from memory_fabric.config import (
    NO_MEMORY_MD,
    Settings,
    captures,
    config_path,
    has_display,
    home_path,
    in_client,
    in_shell_of_another,
    is_checked,
    may_isolate,
    read_settings,
    search_path,
    switches_in,
    transcript_roots,
    trust_for,
    with_changes,
)

HOME = {"HOME": "/home/ann"}
UNATTENDED = {"CLAUDE_CODE_SESSION_ATTENDED": "0"}
FULL_CAPTURE = {"capture": {"unattended": "full"}}


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
    assert (settings.episodes_keep_days, settings.max_reply_chars) == (90, 40_000)
    assert (settings.serve_rate, settings.serve_backlog, settings.token_price) == (2000, 250_000, 0)
    assert (settings.weekly, settings.share_words, settings.semantic) == (True, False, True)
    assert (settings.capture_unattended, settings.notices, settings.notes) == ("low", "all", "auto")
    assert (settings.claims, settings.trusted_roots, settings.muted) == ("ask", (), False)
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
    ci = [read_settings(HOME | {"CI": value}, {}).ci for value in ("1", "TRUE", "false", "")]
    assert ci == [True, True, False, False]


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
        ({}, "win32", True),
        ({"SSH_CONNECTION": "x", "BROWSER": "firefox"}, "win32", True),
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
    assert switches_in("write = false\nnotices = [\nread = true\n") == {"write": False}
    assert switches_in("read = no\nwrite = true # x\n[\n") == {"read": False}
    assert switches_in("read\n") == {}


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
        (UNATTENDED, {}, True),
        (UNATTENDED, {"capture": {"unattended": "off"}}, False),
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


@pytest.mark.parametrize(
    ("place", "field", "lowest", "highest", "step"),
    [
        ("MEMORY_FABRIC_DEDUP_THRESHOLD", "dedup_threshold", 0, 1, 0.5),
        ("MEMORY_FABRIC_BOOST_FACTOR", "boost_factor", 1, 10, 0.5),
        ("MEMORY_FABRIC_MAX_RESULTS", "max_results", 1, 1000, 1),
        ("MEMORY_FABRIC_MAX_REPLY_CHARS", "max_reply_chars", 1000, 10**9, 1),
        ("episodes.keep_days", "episodes_keep_days", 0, 36_500, 1),
        ("serve.rate", "serve_rate", 1, 10**6, 1),
        ("serve.backlog", "serve_backlog", 1, 10**8, 1),
        ("worth.price", "token_price", 0, 10_000, 1),
    ],
)
def test_a_number_in_a_variable_or_in_config_toml_is_accepted_up_to_its_limits(
    place: str, field: str, lowest: float, highest: float, step: float
) -> None:
    table, _, key = place.partition(".")

    def read(number: float) -> Settings:
        if key:
            return read_settings(HOME, {table: {key: number}})
        return read_settings(HOME | {place: str(number)}, {})

    for number in (lowest, highest):
        settings = read(number)
        assert (getattr(settings, field), settings.complaints) == (number, ())
    for number in (lowest - step, highest + step):
        assert len(read(number).complaints) == 1


def test_only_a_price_in_config_toml_may_be_a_fraction() -> None:
    priced = read_settings(HOME, {"worth": {"price": 2.5}})
    wrong = read_settings(HOME, {"episodes": {"keep_days": 2.5}})

    assert (priced.token_price, priced.complaints) == (2.5, ())
    assert (wrong.episodes_keep_days, len(wrong.complaints)) == (90, 1)


def test_switches_for_shared_words_meaning_and_the_weekly_summary_are_read_from_config_toml() -> (
    None
):
    settings = read_settings(HOME, {"share_words": True, "semantic": False, "weekly": False})
    wrong = read_settings(HOME, {"share_words": "yes", "semantic": "no", "weekly": "no"})

    assert (settings.share_words, settings.semantic, settings.weekly) == (True, False, False)
    assert (wrong.share_words, wrong.semantic, wrong.weekly) == (False, True, True)
    assert wrong.complaints == ("config.toml: weekly must be true or false, not 'no'",)


@pytest.mark.parametrize(
    ("variable", "file", "notes", "complaints"),
    [
        ("", {}, "auto", 0),
        ("ON", {"notes": "off"}, "on", 0),
        ("", {"notes": "off"}, "off", 0),
        ("maybe", {"notes": "off"}, "off", 1),
    ],
)
def test_a_variable_sets_the_request_for_notes_before_config_toml(
    variable: str, file: dict[str, object], notes: str, complaints: int
) -> None:
    settings = read_settings(HOME | {"MEMORY_FABRIC_NOTES": variable}, file)

    assert (settings.notes, len(settings.complaints)) == (notes, complaints)


def test_the_author_is_the_first_user_name_in_the_environment() -> None:
    names = {"USERNAME": "carl", "LOGNAME": "bob", "USER": "ann"}

    assert read_settings(names, {}).author == "ann"
    assert read_settings(names | {"USER": ""}, {}).author == "bob"
    assert read_settings({"USERNAME": "carl"}, {}).author == "carl"


def test_folders_whose_clones_are_trusted_must_be_absolute_or_below_the_users_home() -> None:
    roots = ["/work", "~", "~/src", "src", "~bob/x", 3]
    settings = read_settings(HOME, {"projects": {"roots": roots, "claims": "trust"}})

    assert settings.trusted_roots == ("/work", "/home/ann", "/home/ann/src")
    assert settings.claims == "trust"
    assert len(settings.complaints) == 3
    assert read_settings(HOME, {"projects": {"roots": "/work"}}).trusted_roots == ("/work",)


def test_changed_switches_and_domains_apply_to_a_running_process() -> None:
    settings = read_settings(HOME, {"notices": "off"})
    muted = read_settings(HOME | {"MEMORY_FABRIC": "off"}, {})

    file = {"read": False, "domains": {"legal": {"isolate": True}}}
    changed = with_changes(settings, file, "it is invalid")
    still_muted = with_changes(muted, {})

    assert (changed.reads, changed.writes, changed.notices) == (False, True, "off")
    assert changed.domains.isolated == {"legal"} and changed.closed == "it is invalid"
    assert with_changes(settings, {"write": False}).writes is False
    assert (still_muted.reads, still_muted.writes) == (False, False)


@pytest.mark.parametrize(
    ("environ", "file", "trust", "checked"),
    [
        ({}, {}, "user", True),
        ({"CI": "1"}, {}, "", False),
        (UNATTENDED, {}, "assistant", False),
        (UNATTENDED, FULL_CAPTURE, "user", True),
        ({"CLAUDE_CODE_ENTRYPOINT": "sdk-py"}, {}, "user", False),
        ({"CLAUDE_CODE_ENTRYPOINT": "sdk-py"}, FULL_CAPTURE, "user", True),
        ({"CLAUDE_CODE_ENTRYPOINT": "cli"}, {}, "user", True),
    ],
)
def test_words_of_the_user_are_trusted_only_if_a_person_may_have_typed_them(
    environ: dict[str, str], file: dict[str, object], trust: str, checked: bool
) -> None:
    settings = read_settings(HOME | environ, file)
    foreign = settings._replace(foreign=True)

    assert (trust_for(settings, "user"), is_checked(settings)) == (trust, checked)
    assert (trust_for(foreign, "user"), is_checked(foreign)) == (trust and "assistant", False)


def test_the_shell_of_a_client_is_recognised_by_its_variables() -> None:
    assert in_client({"CLAUDECODE": "1"}) and in_client({"CLAUDE_PID": "17"})
    assert not in_client({"CLAUDECODE": ""}) and not in_client({"CODEX_SANDBOX": "1"})
    assert in_shell_of_another({"CODEX_SANDBOX": "1"}, "claude-code")
    assert not in_shell_of_another({"CODEX_SANDBOX": "1"}, "codex")
    assert not in_shell_of_another({"GEMINI_CLI": "1"}, "qwen")
    assert in_shell_of_another({"CLAUDECODE": "1"}, "codex")
    assert not in_shell_of_another({"CLAUDECODE": "1"}, "claude-code")
    assert not in_shell_of_another({}, "codex")


def test_the_transcripts_of_each_client_are_in_its_own_folder() -> None:
    moved = {"CODEX_HOME": "/c", "QWEN_HOME": "/q", "CLAUDE_CONFIG_DIR": "/x"}

    assert transcript_roots(HOME) == {
        "claude-code": "/home/ann/.claude/projects",
        "codex": "/home/ann/.codex",
        "qwen": "/home/ann/.qwen/projects",
    }
    roots = {"claude-code": "/x/projects", "codex": "/c", "qwen": "/q/projects"}
    assert transcript_roots(HOME | moved) == roots
    assert transcript_roots(HOME | moved | {"QWEN_RUNTIME_DIR": "/r"})["qwen"] == "/r/projects"


def test_empty_entries_of_the_search_path_are_left_out() -> None:
    assert search_path({"PATH": os.pathsep.join(["/a", "", "/b"])}) == ["/a", "/b"]
    assert search_path({}) == []
