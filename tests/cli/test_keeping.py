"""remember, pin: what is stored, and where (BR-11, BR-15)."""

from __future__ import annotations

from cli.shell import Shell

BR_11 = "Use cursor-based pagination for all list endpoints"


def test_br_11_one_decision_lies_in_three_places(shell: Shell) -> None:
    record = shell.remember(BR_11)

    assert {"name": "cursor-pagination", "type": "pattern"} in record["entities"]
    assert {"name": "list-endpoints", "type": "component"} in record["entities"]
    chosen = {"from": "shop", "relation": "chose", "to": "cursor-pagination"}
    assert chosen in record["relations"]
    assert record["confidence"] >= 0.7
    assert record["tiers"] == ["graph", "decisions.jsonl", "MEMORY.md"]
    assert BR_11 in (shell.project / ".claude/memory/decisions.jsonl").read_text("utf-8")
    assert BR_11 in shell.notes.read_text("utf-8")


def test_br_15_plain_success_failed_and_global(shell: Shell) -> None:
    plain = shell.remember("Use PostgreSQL for the orders")
    success = shell.remember("--success", "Cursor-based pagination scales for 2M+ rows")
    failed = shell.remember("--failed", "Offset pagination caused timeouts at 1M rows")
    everywhere = shell.remember("--global", "Always validate input at API boundaries")

    assert (plain["scope"], plain["outcome"]) == ("team", "neutral")
    assert (success["type"], success["outcome"]) == ("pattern", "success")
    assert (failed["type"], failed["outcome"]) == ("antipattern", "failed")
    assert everywhere["scope"] == "global"
    assert not {"author", "origin", "project"} & set(everywhere)
    assert everywhere["tiers"] == ["graph"]


def test_the_options_are_stored_as_stated(shell: Shell) -> None:
    record = shell.remember(
        *("--type", "constraint", "--scope", "user", "--why", "auditors ask for it"),
        *("--category", "compliance", "--agent", "security-auditor", "--domain", "audit"),
        "Log files carry no names",
    )

    assert record["type"] == "constraint"
    assert record["scope"] == "user"
    assert record["why"] == "auditors ask for it"
    assert record["category"] == "compliance"
    assert (record["agent"], record["domain"]) == ("security-auditor", "audit")


def test_a_dash_reads_standard_input(shell: Shell) -> None:
    done = shell.run(
        "remember", "-", "--json", stdin="We chose Redis over Memcached,\nit persists\n"
    )

    assert done.json["what"].startswith("We chose Redis over Memcached")
    assert {"from": "Redis", "relation": "chose_over", "to": "Memcached"} in done.json["relations"]


def test_unquoted_words_are_one_text(shell: Shell) -> None:
    assert shell.remember(*BR_11.split())["what"] == BR_11


def test_the_same_words_again_make_it_stronger(shell: Shell) -> None:
    first = shell.remember(BR_11)

    second = shell.remember(BR_11)

    assert second["repeated"] and not first["repeated"]
    assert second["id"] == first["id"]


def test_the_confirmation_says_what_was_made_and_where(shell: Shell) -> None:
    done = shell.run("remember", BR_11)

    assert done.out.startswith("Remembered: decision ")
    assert "cursor-pagination (pattern)" in done.out
    assert "graph, decisions.jsonl, MEMORY.md" in done.out


def test_a_text_that_is_too_long_is_cut_with_a_notice(shell: Shell) -> None:
    done = shell.run("remember", "-", "--json", stdin="All of this counts. " * 2000)

    assert done.status == 0
    assert len(done.json["what"]) <= 16 << 10
    assert "cut after" in done.err


def test_a_secret_is_not_stored(shell: Shell) -> None:
    secret = "ghp_" + "Ab1" * 12

    shell.remember(f"Always deploy with the token {secret}")

    whole = b"".join(p.read_bytes() for p in shell.user_home.rglob("*") if p.is_file())
    assert secret.encode() not in whole


def test_while_the_graph_cannot_be_written_the_record_waits_in_the_queue(shell: Shell) -> None:
    shell.remember("Always use UTC in the logs")
    shell.database.write_bytes(b"no database " * 400)
    for ending in ("-wal", "-shm"):
        shell.database.with_name(shell.database.name + ending).unlink(missing_ok=True)

    record = shell.remember(BR_11)

    assert "queue" in record["tiers"]
    assert record["failures"]


def test_a_pinned_memory_stands_first_and_can_be_unpinned(shell: Shell) -> None:
    record = shell.remember("Never log names")
    shell.remember(BR_11)

    pinned = shell.run("pin", record["short_id"])
    loaded = shell.run("load").out
    unpinned = shell.run("pin", record["short_id"], "--off", "--json").json

    assert pinned.out.startswith("Pinned: ")
    assert 0 < loaded.index("Never log names") < loaded.index(BR_11)
    assert unpinned["pinned"] is False
    assert "pinned" not in shell.run("load").out


def test_nobody_else_can_read_what_was_stored(shell: Shell) -> None:
    shell.remember(BR_11)

    loose = [p for p in shell.memory.rglob("*") if p.stat().st_mode & 0o077]

    assert loose == []
