"""The benchmark of memory over conversations, on two invented sessions and the real hooks."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"
sys.path.insert(0, str(FOLDER))

import histories  # noqa: E402
from replays.items import cut_around, language_of  # noqa: E402

PROJECT = "ines/boats"
MONDAY, TUESDAY = "monday.md", "tuesday.md"
DECIDED = "Remember that the berths are stored in PostgreSQL because SQLite locks."
COUNT = "No, never count the guest berths of the north pier, only those of members."
ANSWERED = "Understood. We decided to keep the berths in a table of their own."
ASKED = "Why PostgreSQL for the berths?"
CONVERSATION = [
    {
        "project": PROJECT,
        "path": MONDAY,
        "when": 1760000000,
        "turns": [
            {"at": None, "prompt": DECIDED, "blocks": [{"type": "text", "text": ANSWERED}]},
            {
                "at": None,
                "prompt": COUNT,
                "blocks": [
                    {"type": "text", "text": "Counting."},
                    {
                        "type": "tool",
                        "name": "Bash",
                        "input": {"command": "berths --count"},
                        "output": "start\n" + "berth " * 300 + "\nfinished",
                    },
                ],
            },
        ],
    },
    {
        "project": PROJECT,
        "path": TUESDAY,
        "when": 1760090000,
        "turns": [
            {
                "at": None,
                "prompt": ASKED,
                "blocks": [{"type": "text", "text": "For its concurrent writes."}],
            }
        ],
    },
]


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def write(path: Path, *objects: object) -> Path:
    path.write_text("".join(f"{json.dumps(one)}\n" for one in objects), "utf-8")
    return path


def run(*arguments: object, status: int = 0) -> subprocess.CompletedProcess[str]:
    """Run the benchmark in this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = histories.main([str(argument) for argument in arguments])
        except SystemExit as leaving:  # as the process would end
            code = 1
            print(leaving, file=err)
    assert code == status, err.getvalue()
    return subprocess.CompletedProcess((), code, out.getvalue(), err.getvalue())


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "conversations.jsonl.gz"
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, CONVERSATION)).encode()))
    return path


@pytest.fixture(scope="module")
def noted(data: Path) -> Path:
    """A file with one note, which the second session is told at its start."""
    line = "Noted decision: The crane of the north pier is booked by letter."
    return write(data.parent / "noted.jsonl", note(MONDAY, 0, line))


@pytest.fixture(scope="module")
def replayed(data: Path, noted: Path) -> Path:
    """A replay by the command, whose events the command of hooks.json answers."""
    words = ("--data", data, "--out", data.parent / "out", "--notes", noted)
    subprocess.run([sys.executable, FOLDER / "histories.py", *words], check=True, timeout=300)
    return data.parent


def note(path: str, place: int, *lines: str) -> dict[str, Any]:
    return {"project": PROJECT, "path": path, "place": place, "lines": list(lines)}


def log_of(out: Path) -> list[dict[str, Any]]:
    return lines_of(out / "ines+boats" / "log.jsonl")


def test_a_replay_calls_the_hooks_of_every_session_in_order(replayed: Path) -> None:
    events = [entry["event"] for entry in log_of(replayed / "out")]

    turn = ["UserPromptSubmit", "Stop"]
    first, second = ["SessionStart", *turn, *turn], ["SessionStart", *turn]
    assert events == [*first, "SessionEnd", *second, "SessionEnd"]


def test_judges_receive_stored_records_and_injected_text_with_their_context(
    replayed: Path,
) -> None:
    items = lines_of(replayed / "out" / "items.jsonl")

    record = next(i for i in items if i["text"].startswith("note: The berths are stored in Post"))
    start = next(i for i in items if i["kind"] == "session_start")
    about = next(
        k
        for k in lines_of(replayed / "out" / "keys.jsonl")
        if k.get("place") == 0 and "note" in k["source"]
    )
    assert record["kind"] == "record"
    assert about["source"] == "note, assistant's trust"
    assert DECIDED in record["context"]
    assert "crane" in start["text"]
    assert "Session 2 of the project, prompt 1" in start["context"]


@pytest.mark.usefixtures("answered_here")
def test_judges_see_which_memories_were_not_shown_if_a_prompt_received_none(
    data: Path, tmp_path: Path
) -> None:
    colours = "red blue green white black amber coral ivory olive pearl plum rose ruby sand".split()
    facts = [f"Noted fact: Boat {colour} belongs to pier {n}." for n, colour in enumerate(colours)]
    notes = write(tmp_path / "notes.jsonl", note(MONDAY, 1, *facts))
    asked = gzip.decompress(data.read_bytes()).decode().replace(ASKED, "Is the paint dry by now?")
    other = tmp_path / "conversations.jsonl.gz"
    other.write_bytes(gzip.compress(asked.encode()))

    run("--data", other, "--out", tmp_path / "out", "--notes", notes)

    items = lines_of(tmp_path / "out" / "items.jsonl")
    start = "".join(item["text"] for item in items if item["kind"] == "session_start")
    [silence] = [item["context"] for item in items if item["kind"] == "silence"]
    untold = silence.partition("not told in this one:")[2]
    assert "Is the paint dry by now?" in silence
    assert "PostgreSQL" not in untold  # MEMORY.md has it
    assert all((f"Boat {c} belongs" in start) != (f"Boat {c} belongs" in untold) for c in colours)


def test_a_long_answer_is_shortened_around_the_judged_statement() -> None:
    text = "first\n" + "berth\n" * 900 + "the crane needs a permit\n" + "buoy\n" * 900 + "last"

    cut = cut_around(text, "The crane needs a permit", 3000)

    assert "the crane needs a permit" in cut
    assert cut.startswith("first")
    assert cut.endswith("last")
    assert len(cut) < 3100


def test_items_to_judge_reveal_neither_source_nor_record_id(replayed: Path) -> None:
    items = lines_of(replayed / "out" / "items.jsonl")
    keys = lines_of(replayed / "out" / "keys.jsonl")
    record = next(k for k in keys if k["kind"] == "record")["record"]

    assert {name for item in items for name in item} == {"id", "kind", "project", "text", "context"}
    assert record[-8:] not in json.dumps(items)


@pytest.mark.usefixtures("answered_here")
def test_the_same_items_of_two_replays_have_the_same_ids(
    data: Path, noted: Path, tmp_path: Path
) -> None:
    ids = []
    for seed in (0, 7):
        run("--data", data, "--out", tmp_path, "--seed", seed, "--notes", noted)
        ids.append({item["text"]: item["id"] for item in lines_of(tmp_path / "items.jsonl")})

    assert ids[0] == ids[1]


@pytest.mark.usefixtures("answered_here")
def test_excerpts_of_conversations_come_only_from_eligible_sessions(
    data: Path, noted: Path, tmp_path: Path
) -> None:
    drawn = ("--stretches", 30, "--notes", noted)  # only Tuesday fits
    run("--data", data, "--out", tmp_path / "out", *drawn)

    keys = lines_of(tmp_path / "out" / "keys.jsonl")
    assert {key["path"] for key in keys} == {TUESDAY}
    assert "Counting" not in (tmp_path / "out" / "ines+boats.conversation.md").read_text("utf-8")


@pytest.mark.usefixtures("answered_here")
def test_items_of_every_kind_are_sampled_and_the_sample_size_is_reported(
    data: Path, noted: Path, tmp_path: Path
) -> None:
    ran = run("--data", data, "--out", tmp_path, "--sample", 1, "--seed", 3, "--notes", noted)

    items, keys = lines_of(tmp_path / "items.jsonl"), lines_of(tmp_path / "keys.jsonl")
    apart = {"session": "session record", "candidate": "candidate"}
    kind_of = {key["id"]: apart.get(key.get("source", ""), key["kind"]) for key in keys}
    assert sorted(kind_of[item["id"]] for item in items) == sorted(set(kind_of.values()))
    assert len(items) < len(kind_of)
    assert f"items: {len(items)} of {len({key['id'] for key in keys})}, seed 3" in ran.stdout


@pytest.mark.usefixtures("answered_here")
def test_a_placeholder_in_a_note_is_replaced_by_the_id_of_the_matching_memory(
    data: Path, tmp_path: Path
) -> None:
    dropped = note(TUESDAY, 0, "Dropped: {id:PostgreSQL}")
    notes = write(tmp_path / "notes.jsonl", dropped)
    run("--data", data, "--out", tmp_path / "out", "--notes", notes)

    told = [line for entry in log_of(tmp_path / "out") for line in entry.get("lines", ())]
    records = lines_of(tmp_path / "out" / "ines+boats" / "records.jsonl")
    decided = next(row for row in records if "PostgreSQL" in row["what"])
    assert told == [f"Dropped: {decided['id'][-8:]}"]


@pytest.mark.usefixtures("answered_here")
def test_an_unknown_placeholder_in_a_note_is_reported_with_its_line(
    data: Path, tmp_path: Path
) -> None:
    notes = write(tmp_path / "notes.jsonl", note(TUESDAY, 0, "Dropped: {id:paint the hull}"))

    lenient = run("--data", data, "--out", tmp_path / "out", "--notes", notes, "--lenient")
    ran = run("--data", data, "--out", tmp_path / "out", "--notes", notes, status=1)

    where = f"notes.jsonl, line 1 ({PROJECT}, {TUESDAY}, prompt 0)"
    assert f"{where}: no id was told with “paint the hull”" in ran.stderr
    assert f"left out: {where}" in lenient.stdout


@pytest.mark.usefixtures("answered_here")
def test_notes_for_a_turn_that_does_not_exist_are_refused(data: Path, tmp_path: Path) -> None:
    notes = write(tmp_path / "notes.jsonl", note(MONDAY, 9, "Noted rule: Berths are numbered."))

    ran = run("--data", data, "--out", tmp_path / "out", "--notes", notes, status=1)

    assert f"notes.jsonl, line 1: no prompt 9 in {PROJECT}, {MONDAY}" in ran.stderr


def judged(folder: Path) -> Path:
    """A made-up run: five records, three injections, one line of MEMORY.md; and its verdicts."""
    sources = ["prompt", "prompt", "note, user's trust", "note, user's trust", "candidate"]
    keys: list[dict[str, Any]] = [
        {"id": f"r{n}", "kind": "record", "source": source, "type": "decision"}
        for n, source in enumerate(sources)
    ]
    keys += [{"id": f"i{n}", "kind": "injection"} for n in range(3)]
    keys += [{"id": "m0", "kind": "memory_md"}]
    about_all = {"project": PROJECT, "language": "en"}
    keys = [{**about_all, "drawn": key["id"] != "m0", **key} for key in keys]
    write(folder / "keys.jsonl", *keys)
    about = {"data": "made-up", "notes": "", "revision": "1", "drawn": 8, "items": 9, "seed": 0}
    about |= {"clock": "the machine's", "late": 2}
    (folder / "run.json").write_text(json.dumps({**about, "projects": [PROJECT], "sessions": None}))
    project = folder / "ines+boats"
    project.mkdir()
    base = {"status": "active", "why": "", "superseded_by": "", "valid_to": ""}
    write(
        project / "records.jsonl",
        {**base, "what": "Berths are numbered from the north"},
        {**base, "what": "Use SQLite", "superseded_by": "r1"},
        {**base, "what": "The crane is broken", "status": "candidate"},
    )
    protocol = "Memory notes. End your message with lines.\nNoted <rule>: <sentence>."
    block = f"<memory-fabric>\n- [rule] Berths\n{protocol}\n</memory-fabric>"
    cue = "If this changes it, note Instead of: 1630ad9a."
    asked = {"event": "UserPromptSubmit", "path": MONDAY, "number": 0}
    stop = {"event": "Stop", "path": MONDAY, "number": 0, "context": ""}
    write(
        project / "log.jsonl",
        {"event": "SessionStart", "path": MONDAY, "number": 0, "context": block},
        {**asked, "context": cue},
        {**stop, "lines": ["Noted rule: Berths."]},
        {**asked, "context": ""},
        {**stop, "lines": []},
    )
    verdicts = ["useful", "junk", "useful", "useful", "harmless"]
    said = [{"id": f"r{n}", "verdict": verdict} for n, verdict in enumerate(verdicts)]
    said += [{"id": "i0", "verdict": "helpful"}, {"id": "i1", "verdict": "noise"}]
    return write(folder / "verdicts.jsonl", *said)


def figures(shown: str) -> dict[str, str]:
    return {line[:44].strip(): line[44:] for line in shown.splitlines()[3:]}


def test_figures_are_shares_of_the_judged_items_with_confidence_intervals(tmp_path: Path) -> None:
    verdicts = judged(tmp_path)

    shown = run("--out", tmp_path, "--verdicts", verdicts).stdout

    found = figures(shown)
    assert "8 of 9 items drawn, seed 0; 1 of 8 without a verdict" in shown
    assert "2 hooks ran out of time" in shown
    assert found["stored records, useful"] == "0.75 (3 of 4; 0.30–0.95)"
    assert found["stored records, junk"] == "0.25 (1 of 4; 0.05–0.70)"
    assert found["… from prompt, useful"].startswith("0.50 (1 of 2")
    assert found["… from note, user's trust, useful"].startswith("1.00 (2 of 2")
    assert found["candidate records, harmless"].startswith("1.00 (1 of 1")
    assert found["injections on prompts, helpful"].startswith("0.50 (1 of 2")
    assert "lines in MEMORY.md, useful" not in found
    assert found["records replaced or dropped"] == "1"


def test_the_report_shows_a_quality_figure_for_each_kind_of_judged_item(tmp_path: Path) -> None:
    judged(tmp_path)
    about: dict[str, Any] = {"project": PROJECT, "drawn": True}
    keys: list[dict[str, Any]] = [
        {"id": "c1", "kind": "cue", "source": "on record", "language": "en"},
        {"id": "c2", "kind": "cue", "source": "sounds like", "language": "es"},
        {"id": "q1", "kind": "quotation", "was_found": True, "language": "en"},
        {"id": "q2", "kind": "quotation", "was_found": False, "language": "en"},
        {"id": "e1", "kind": "relation", "type": "chose", "language": "en"},
        {"id": "s1", "kind": "session_start", "language": "en"},
        {"id": "s2", "kind": "session_start", "language": "es"},
        {"id": "n1", "kind": "silence", "language": "en"},
    ]
    write(tmp_path / "keys.jsonl", *({**about, **key} for key in keys))
    said = ["wrong", "right", "yes", "yes", "right", "good", "good", "missed"]
    verdicts = [
        {"id": key["id"], "verdict": verdict, "misleading": key["id"] == "s1"}
        for key, verdict in zip(keys, said, strict=True)
    ]
    one, other = (write(tmp_path / f"{n}.jsonl", *verdicts[n::2]) for n in (0, 1))

    found = figures(run("--out", tmp_path, "--verdicts", one, other).stdout)

    assert found["cues, right"].startswith("0.50 (1 of 2")
    assert found["… of on record, right"].startswith("0.00 (0 of 1")
    assert found["… honest ones that were found"].startswith("0.50 (1 of 2")
    assert found["… of chose, right"].startswith("1.00 (1 of 1")
    assert found["session starts, good"].startswith("1.00 (2 of 2")
    assert found["session starts with a misleading line"].startswith("0.50 (1 of 2")
    assert found["prompts with nothing told, missed"].startswith("1.00 (1 of 1")
    assert found["es: cues, right"].startswith("1.00 (1 of 1")


@pytest.mark.parametrize(
    ("prompt", "language"),
    [
        ("Please count the berths of this pier.", "en"),
        ("Cuenta los amarres del muelle, por favor, una vez.", "es"),
        ("Compte les places du quai, pas celles des clients.", "fr"),
        ("Zähle bitte die Plätze und nicht das Boot.", "de"),
        ("Посчитай места на причале, но не гостевые.", "ru"),
        ("npm test", "en"),
    ],
)
def test_the_language_of_a_session_is_detected_from_its_prompts(prompt: str, language: str) -> None:
    assert language_of({"turns": [{"prompt": prompt, "blocks": []}]}) == language


def test_figures_show_how_many_settled_points_and_corrections_were_stored(tmp_path: Path) -> None:
    verdicts = judged(tmp_path)
    grades = [("Y", False), ("P", False), ("N", True), ("Y", True)]
    said = (
        {"id": n, "verdict": g, "correction": c, "by": "user" if c else "assistant"}
        for n, (g, c) in enumerate(grades)
    )
    points = write(tmp_path / "points.jsonl", *said)

    found = figures(run("--out", tmp_path, "--verdicts", verdicts, "--points", points).stdout)

    assert found["settled points on record"].startswith("0.50 (2 of 4")
    assert found["settled points in part"].startswith("0.25 (1 of 4")
    assert found["… work and findings on record"].startswith("0.50 (1 of 2")
    assert found["… said by the user on record"].startswith("0.50 (1 of 2")
    assert found["users' corrections on record"].startswith("0.50 (1 of 2")


def test_figures_list_useful_notes_that_were_not_stored(tmp_path: Path) -> None:
    verdicts = judged(tmp_path)
    lines = [
        "Noted rule: Berths are numbered from the north. From: “north first”",
        "Noted fact: The crane is broken.",
        "Noted open: Paint the hull.",
    ]
    entry = note(MONDAY, 0, *lines)
    entry["verdicts"] = [{"verdict": "useful"}, {"verdict": "useful"}, {"verdict": "harmless"}]
    notes = write(tmp_path / "notes.jsonl", entry)

    shown = run("--out", tmp_path, "--verdicts", verdicts, "--notes", notes).stdout

    found = figures(shown)
    assert found["useful notes that are not on record"].startswith("0.50 (1 of 2")
    assert f"{PROJECT}: The crane is broken." in shown
    assert "Berths are numbered" not in shown


def test_the_report_counts_the_characters_of_instructions_hints_and_notes(tmp_path: Path) -> None:
    found = figures(run("--out", tmp_path, "--verdicts", judged(tmp_path)).stdout)

    protocol = "Memory notes. End your message with lines.\nNoted <rule>: <sentence>."
    assert found["characters a session: protocol"].startswith(f"{len(protocol)} mean")
    assert found["characters a session: cues"].startswith("46 mean")
    assert found["characters a session: notes"].startswith("19 mean")
    assert found["prompts with a cue"].startswith("0.50 (1 of 2")
    assert found["turns with a note"].startswith("0.50 (1 of 2")


def test_a_verdict_that_is_invalid_for_its_kind_of_item_is_refused(tmp_path: Path) -> None:
    judged(tmp_path)
    verdicts = write(tmp_path / "wrong.jsonl", {"id": "i0", "verdict": "useful"})

    ran = run("--out", tmp_path, "--verdicts", verdicts, status=1)

    assert "“useful” is no verdict on a injection (i0)" in ran.stderr
