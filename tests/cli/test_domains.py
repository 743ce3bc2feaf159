"""domains: counts by domain, and relations that reach from one into another."""

from __future__ import annotations

import sqlite3

import pytest

from cli.shell import Shell


def move(shell: Shell, name: str, domain: str) -> None:
    """Put an entity into another domain."""
    connection = sqlite3.connect(shell.database)
    connection.execute("UPDATE entities SET domain = ? WHERE name = ?", (domain, name))
    connection.commit()
    connection.close()


def test_domains_command_exits_with_code_3_if_nothing_is_stored(shell: Shell) -> None:
    done = shell.run("domains")

    assert (done.status, done.out) == (3, "Nothing is stored here yet.\n")
    assert shell.run("domains", "--json").json["domains"] == []


def test_the_domains_command_counts_project_and_user_items_by_domain(shell: Shell) -> None:
    shell.remember("Use cursor-based pagination for all list endpoints")
    shell.remember("--domain", "code_reviewer", "Never approve a change without tests")
    shell.remember("--scope", "user", "I prefer tabs over spaces")

    found = {d.pop("domain"): d for d in shell.run("domains", "--json").json["domains"]}

    assert found["code_reviewer"]["records"] == 1
    assert found["general"]["records"] == 2
    assert "config.toml" not in shell.run("domains").out
    assert found["general"]["entities"] >= 2 and found["general"]["relations"] >= 1


@pytest.mark.parametrize(("number", "is_cut"), [(10, False), (12, True)])
def test_the_domains_command_counts_and_lists_ten_relations_between_domains(
    shell: Shell, number: int, is_cut: bool
) -> None:
    hub = '{"type":"entity","name":"hub","entityType":"component","observations":[]}'
    uses = '{"type":"relation","from":"hub","to":"n%d","relationType":"uses"}'
    shell.run("import", "-", stdin="\n".join([hub, *(uses % n for n in range(number))]))
    none = shell.run("domains")

    move(shell, "hub", "frontend")
    told = shell.run("domains").out
    counted = shell.run("domains", "--json").json["contamination"]

    assert "No relation connects different domains." in none.out
    assert f"Relations between different domains: {number}\n" in told
    assert "hub (frontend) uses n0 (general)" in told
    assert ("and 2 more" in told, " more" in told) == (is_cut, is_cut)
    assert counted["relations"] == number and len(counted["first"]) == 10
    assert counted["first"][0] == {
        "from": "hub",
        "from_domain": "frontend",
        "relation": "uses",
        "to": "n0",
        "to_domain": "general",
        "store": "project",
    }


def test_turns_of_past_sessions_are_counted_by_domain(shell: Shell) -> None:
    shell.remember("Use cursor-based pagination for all list endpoints")
    turn = ("u1", "s1", "user", "Hello.", "", "/x", "", "session", "2026-01-01T00:00:00.000Z")
    with sqlite3.connect(shell.database) as connection:
        connection.execute(
            "INSERT INTO episodes (uuid, session, role, text, extra, place, agent, domain, "
            "created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            turn,
        )
    connection.close()

    found = {d.pop("domain"): d for d in shell.run("domains", "--json").json["domains"]}

    assert found["session"]["episodes"] == 1
    assert found["general"]["episodes"] == 0


def test_domains_command_shows_the_configuration_from_config_toml(shell: Shell) -> None:
    configure(
        shell,
        '[domains.legal]\nagents = ["legal-advisor"]\npaths = ["services/legal"]\n'
        "isolate = true\n[agents.hermit]\nisolate = true\n",
    )
    shell.remember("Use cursor-based pagination for all list endpoints")

    told, listed = shell.run("domains").out, shell.run("domains", "--json").json

    assert "  legal: isolated; agents legal-advisor; paths services/legal\n" in told
    assert "  isolated agent types: hermit\n" in told
    assert "This folder: general\n" in told
    assert listed["configured"]["agents"] == {"legal-advisor": "legal"}
    assert listed["configured"]["isolated_domains"] == ["legal"]
    assert listed["here"] == "general"


def test_an_unknown_setting_of_a_domain_in_config_toml_is_reported(shell: Shell) -> None:
    configure(shell, "[domains.legal]\nisolated = true\n")
    shell.remember("Use cursor-based pagination for all list endpoints")

    assert "domains.legal.isolated" in shell.run("domains").err


def configure(shell: Shell, text: str) -> None:
    shell.memory.mkdir(parents=True, exist_ok=True)
    (shell.memory / "config.toml").write_text(text, encoding="utf-8")


def test_the_domain_of_a_memory_comes_from_its_option_agent_or_folder(
    shell: Shell,
) -> None:
    configure(
        shell,
        '[domains.legal]\nagents = ["legal-advisor"]\n[domains.shop]\npaths = ["."]\n',
    )

    def domain(*words: str) -> str:
        return str(shell.remember(*words)["domain"])

    assert domain("--domain", "Code Review", "Never approve a change without tests") == (
        "code_review"
    )
    assert domain("--expert-domain", "ops", "Deploy on Mondays") == "ops"
    assert domain("--agent", "legal-advisor", "Contracts last ten years") == "legal"
    assert domain("--agent", "poem-writer", "Verses rhyme in pairs") == "shop"
    assert domain("Use cursor-based pagination for all list endpoints") == "shop"
    assert domain("--domain", "general", "Water boils at 100 degrees") == "general"


def test_a_domain_without_a_name_is_refused(shell: Shell) -> None:
    done = shell.run("remember", "--domain", "!!", "Deploy on Mondays")

    assert done.status == 2
    assert "'!!' is not a domain name" in done.err


def test_a_process_in_an_isolated_domain_can_write_only_to_that_domain(shell: Shell) -> None:
    configure(shell, "[domains.legal]\nisolate = true\n")
    before = shell.remember("--domain", "ops", "Deploy on Mondays")

    words = ("remember", "--json", "--domain", "ops", "Deploy on Mondays")
    inside = shell.run(*words, MEMORY_FABRIC_DOMAIN="legal").json

    assert inside["domain"] == "legal"
    assert inside["id"] != before["id"] and not inside["repeated"]


def test_recall_load_and_export_in_an_isolated_domain_show_only_that_domain(shell: Shell) -> None:
    configure(shell, "[domains.legal]\nisolate = true\n")
    kept = ("--type", "decision", "--domain")
    shell.remember(*kept, "legal", "Contracts are kept in PostgreSQL for ten years")
    shell.remember(*kept, "ops", "Backups are kept in MinIO for ten days")

    def asked(*words: str, domain: str) -> str:
        return shell.run(*words, MEMORY_FABRIC_DOMAIN=domain).out

    for words in (
        ("recall", "what is kept for ten years or days?"),
        ("recall", "--explain", "what is kept for ten years or days?"),
        ("recall", "domain:ops kept"),
        ("recall",),
        ("load",),
        ("domains",),
        ("export",),
    ):
        inside = asked(*words, domain="legal")
        assert "Backups" not in inside and "  ops" not in inside and "\nops" not in inside
    assert "Contracts" in asked("recall", "kept", domain="legal")
    assert "Contracts" in asked("load", domain="legal")
    assert "Contracts" in asked("export", domain="legal")
    found = shell.run("domains", "--json", MEMORY_FABRIC_DOMAIN="legal").json
    assert [one["domain"] for one in found["domains"]] == ["legal"]
    assert "Backups" in asked("history", domain="legal")  # upkeep is a person's


def test_the_user_can_recall_every_domain_in_an_isolated_folder(shell: Shell) -> None:
    shell.remember("--domain", "ops", "Backups are kept for ten days")
    configure(shell, '[domains.legal]\npaths = ["."]\nisolate = true\n')

    assert "Backups" in shell.run("recall", "kept").out


def test_the_domains_command_says_that_a_folder_or_shell_is_isolated(shell: Shell) -> None:
    configure(shell, '[domains.legal]\npaths = ["."]\nisolate = true\n')
    inside = shell.run("domains")
    (shell.memory / "config.toml").unlink()
    named = shell.run("domains", MEMORY_FABRIC_DOMAIN="ops")

    assert inside.out.endswith("  legal: isolated; paths .\nThis folder: legal, isolated\n")
    assert named.out.endswith("From config.toml:\nThis folder: ops\n")
