from __future__ import annotations

from collections.abc import Sequence

from memory_fabric.language.concepts import name_keys
from memory_fabric.models import Relation
from memory_fabric.recall.retrieve import MAX_PATHS, answering, most_relevant, walk

RECOMMENDS = Relation("database-engineer", "recommends", "cursor-pagination")
USES = Relation("cursor-pagination", "uses", "PostgreSQL")
RUNS = Relation("PostgreSQL", "runs_on", "Kubernetes")
BACK = Relation("Kubernetes", "operated_by", "database-engineer")


class Edges:
    """Relations by their ends, and how often they were asked for."""

    def __init__(self, *relations: Relation) -> None:
        self.relations, self.asked = relations, 0

    def __call__(self, names: Sequence[str]) -> list[Relation]:
        self.asked += 1
        return [r for r in self.relations if r.source in names or r.target in names]


def test_traversal_follows_two_steps_and_returns_the_path() -> None:
    paths = walk(["database-engineer"], Edges(RECOMMENDS, USES, RUNS))

    assert paths == ((RECOMMENDS, USES),)


def test_traversal_follows_at_most_three_steps() -> None:
    chain = [Relation(f"n{i}", "next", f"n{i + 1}") for i in range(6)]

    assert len(walk(["n0"], Edges(*chain), depth=3)[0]) == 3
    assert len(walk(["n0"], Edges(*chain), depth=99)[0]) == 3
    assert walk(["n0"], Edges(*chain), depth=0) == ()


def test_traversal_of_a_cycle_terminates() -> None:
    paths = walk(["database-engineer"], Edges(RECOMMENDS, USES, RUNS, BACK), depth=3)

    ends = [{r.source for r in path} | {r.target for r in path} for path in paths]
    assert set().union(*ends) == {
        "database-engineer",
        "cursor-pagination",
        "PostgreSQL",
        "Kubernetes",
    }


def test_a_relation_from_an_entity_to_itself_is_not_traversed() -> None:
    assert walk(["a"], Edges(Relation("a", "calls", "a"))) == ()


def test_traversal_follows_relations_in_both_directions() -> None:
    assert walk(["PostgreSQL"], Edges(USES, RECOMMENDS)) == ((USES, RECOMMENDS),)


def test_traversal_from_an_entity_with_many_relations_is_limited() -> None:
    hub = [Relation("hub", "touches", f"n{i}") for i in range(5000)]

    assert len(walk(["hub"], Edges(*hub))) == 199


def test_traversal_queries_the_store_only_once_per_depth_level() -> None:
    edges = Edges(*(Relation("hub", "touches", f"n{i}") for i in range(50)))

    walk(["hub"], edges, depth=2)

    assert edges.asked == 2


def test_graph_paths_that_contain_words_of_the_question_come_first() -> None:
    other = Relation("database-engineer", "likes", "tea")

    paths = most_relevant([(other,), (RECOMMENDS, USES)], ["pagination", "recommend"])

    assert paths[0] == (RECOMMENDS, USES)


def test_the_number_of_graph_paths_in_an_answer_is_limited() -> None:
    paths = [(Relation("hub", "touches", f"n{i}"),) for i in range(100)]

    assert len(most_relevant(paths, [])) == MAX_PATHS


def test_only_graph_paths_that_answer_the_question_are_shown() -> None:
    store = Relation("parcels", "uses", "sorter")
    upward = (store, Relation("tracking", "depends_on", "parcels"))
    downward = (Relation("sorter", "runs_on", "Kubernetes"), Relation("Kubernetes", "in", "Oslo"))
    paths = [upward, downward, (store,)]

    def told(question: str) -> list[tuple[Relation, ...]]:
        return answering(paths, question, name_keys(question))

    assert told("what breaks if we change the sorter?") == [upward]
    assert told("which service depends on what uses the sorter?") == [upward]
    assert told("how does tracking relate to the sorter?") == [upward]
    assert told("what is the sorter?") == []


def test_of_equally_relevant_paths_the_longest_comes_first() -> None:
    paths = [(RUNS,), (RECOMMENDS, USES), (BACK,)]

    assert most_relevant(paths, ["kangaroo"]) == ((RECOMMENDS, USES), (RUNS,), (BACK,))


def test_a_path_ends_with_a_relation_back_to_an_entity_reached_before() -> None:
    triangle = Edges(Relation("a", "x", "b"), Relation("a", "x", "c"), Relation("b", "x", "c"))

    paths = walk(["a"], triangle)

    assert (Relation("a", "x", "b"), Relation("b", "x", "c")) in paths
    assert (Relation("a", "x", "c"),) in paths
    assert len(paths) == 2
