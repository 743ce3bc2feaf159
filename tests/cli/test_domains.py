"""domains: counts by domain, and relations that reach from one into another."""

from __future__ import annotations

import sqlite3

from cli.shell import Shell


def move(shell: Shell, name: str, domain: str) -> None:
    """Put an entity into another domain."""
    connection = sqlite3.connect(shell.database)
    connection.execute("UPDATE entities SET domain = ? WHERE name = ?", (domain, name))
    connection.commit()
    connection.close()


def test_without_a_memory_it_says_so_with_exit_code_3(shell: Shell) -> None:
    done = shell.run("domains")

    assert (done.status, done.out) == (3, "Nothing is stored here yet.\n")
    assert shell.run("domains", "--json").json["domains"] == []


def test_br_20_everything_is_counted_in_its_domain_over_both_databases(shell: Shell) -> None:
    shell.remember("Use cursor-based pagination for all list endpoints")
    shell.remember("--domain", "code_reviewer", "Never approve a change without tests")
    shell.remember("--scope", "user", "I prefer tabs over spaces")

    found = {d.pop("domain"): d for d in shell.run("domains", "--json").json["domains"]}

    assert found["code_reviewer"]["records"] == 1
    assert found["general"]["records"] == 2
    assert found["general"]["entities"] >= 2 and found["general"]["relations"] >= 1


def test_br_20_relations_across_domains_are_counted_and_the_first_are_shown(shell: Shell) -> None:
    hub = '{"type":"entity","name":"hub","entityType":"component","observations":[]}'
    uses = '{"type":"relation","from":"hub","to":"n%d","relationType":"uses"}'
    shell.run("import", "-", stdin="\n".join([hub, *(uses % n for n in range(12))]))
    none = shell.run("domains")

    move(shell, "hub", "frontend")
    told = shell.run("domains")
    counted = shell.run("domains", "--json").json["contamination"]

    assert "No relation reaches from one domain into another." in none.out
    assert "hub (frontend) uses n0 (general)" in told.out and "and 2 more" in told.out
    assert counted["relations"] == 12 and len(counted["first"]) == 10
    assert counted["first"][0] == {
        "from": "hub",
        "from_domain": "frontend",
        "relation": "uses",
        "to": "n0",
        "to_domain": "general",
        "store": "project",
    }
