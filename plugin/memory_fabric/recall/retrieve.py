"""Retrieval by search and along relations. A source that fails is reported and skipped."""

from collections import Counter
from collections.abc import Callable, Container, Iterable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, TypeVar

from memory_fabric.errors import DeadlinePassed, FabricError
from memory_fabric.language import concepts
from memory_fabric.models import DEFAULT_DEPTH, Filters, Hit, Query, Relation
from memory_fabric.recall import rank, relevance
from memory_fabric.recall.floor import FEW_ROWS
from memory_fabric.store.memory import Memory
from memory_fabric.store.queries import search
from memory_fabric.store.queries.graph import NOW
from memory_fabric.store.queries.reader import MAX_COUNTED, Reader
from memory_fabric.store.queries.search import Candidate
from memory_fabric.text import STOPWORDS, name_key, stem, words

Path = tuple[Relation, ...]
Candidates = Sequence[Candidate]
Groups = Sequence[Sequence[str]]
Readers = Sequence[Reader]
Row = TypeVar("Row")
RECALL_LIMIT = 200  # measurements showed no effect of more candidates per source
# Of a long text, only this many of the rarest words are searched for; fewer while a user waits.
SEARCHED_TERMS, PROMPT_TERMS = 48, 24
ENTITY_LIMIT = 20
# The sources for a question and for a prompt. "named" are observations of entities in the prompt.
EVERY_SOURCE = frozenset(("graph", "records", "episodes", "entities"))
FOR_PROMPTS = frozenset(("records", "named"))
BY_WORDS = EVERY_SOURCE - {"entities"}
NEAR_LIMIT = 60
# Relations in the best paths (up to this many paths) become hits; other paths are only listed.
MAX_PATHS_AS_HITS = 5
# The maximum number of full paths that are injected for one prompt.
MAX_PATHS_TOLD = 2
# The maximum number of entities at which walks for a question start.
MAX_STARTS = 4
# A longer name in capitals is an identifier, not an abbreviation.
MAX_ABBREVIATION = 4
MAX_NAME_KEYS = 900  # the maximum number of names per query
_NO_GRAPH = "graph: unavailable, and it is required: {}. Run memory-fabric doctor to see why."
GRAPH_REQUIRED = _NO_GRAPH.format("nothing could be searched")
GRAPH_MISSING = _NO_GRAPH.format("what it holds is missing among these")


def retrieve(
    query: Query,
    memory: Memory,
    *,
    now: str = "",
    session: str = "",
    limit: int = RECALL_LIMIT,
    wide: bool = False,
    sources: Container[str] = EVERY_SOURCE,
) -> tuple[list[Candidate], tuple[Path, ...], tuple[str, ...]]:
    """Return candidates from the `sources` in all stores, paths of relations, and the sources'
    errors. Each source yields at most `limit` candidates per store. If `wide`, these include turns
    next to matching turns, matches by synonyms alone, and notes from the client's own memory files.
    Local records are returned only to their own `session`. Raises DeadlinePassed.
    """
    groups = [concept.spellings for concept in concepts.concepts(query)]
    candidates: list[Candidate] = []
    failures: list[str] = []
    readers = memory.readers()
    for reader in readers:
        for source, ask in _sources(reader, query, groups, session, limit, wide).items():
            if source in sources:
                candidates += _asked(failures, source, reader, ask)
    if not query.past:
        candidates += _successors(query, readers, candidates, now, session, failures)
    if wide:
        candidates += _near(query, readers, candidates, session, failures)
    paths: tuple[Path, ...] = ()
    if query.traverse:
        steps = [_asked(failures, "graph", r, _walked, r, query, candidates) for r in readers]
        every = dict.fromkeys(path for some in steps for path in some)
        paths = most_relevant(every, [*query.entity_hints, *query.terms])
        whole: Sequence[Path] = ()
        if not wide:  # prompts get whole paths as hits; answers show paths separately
            names = concepts.name_keys(query.asked) - concepts.WEAK - STOPWORDS
            whole = answering(paths, query.asked, names)[:MAX_PATHS_TOLD]
        edges = dict.fromkeys(edge for path in paths[:MAX_PATHS_AS_HITS] for edge in path)
        edges_in_paths = {edge for path in whole for edge in path}
        alone = [(edge,) for edge in edges if edge not in edges_in_paths]
        candidates += [_of_path(path, readers) for path in (*whole, *alone)]
    failures = [*memory.failures, *failures]
    lacks_graph = bool(failures) and not _any_graph(readers, failures)
    failures += [GRAPH_MISSING if candidates else GRAPH_REQUIRED] if lacks_graph else []
    if wide and (candidates or not lacks_graph):
        candidates += _native(query, memory, limit, failures)
    return candidates, paths, tuple(dict.fromkeys(failures))


def with_rarest_terms(
    query: Query, readers: Readers, sources: Container[str], most: int = SEARCHED_TERMS
) -> Query:
    """Reduce the query to its `most` rarest terms in the sources; stores that fail are skipped."""
    if len(query.terms) <= most:
        return query
    # Do not count the rows with weak words (`concepts.WEAK`), because these are never rare.
    telling = [term for term in query.terms if term not in concepts.WEAK]
    counts: Counter[str] = Counter()
    for reader in readers:
        counts.update(reader.rows_with(telling, sources))
    rarest = sorted(counts, key=counts.__getitem__)[:most]
    unknown_terms = [term for term in (*telling, *query.terms) if term not in counts]
    chosen = frozenset((*rarest, *unknown_terms[: most - len(rarest)]))
    return query._replace(terms=tuple(term for term in query.terms if term in chosen))


def terms_of_few_records(query: Query, readers: Readers) -> frozenset[str]:
    """Return the query's terms that, counting all their spellings, occur in few records."""
    wanted = concepts.concepts(query)
    spellings = [spelling for concept in wanted for spelling in concept.spellings]
    counts: Counter[str] = Counter()
    for reader in readers:
        counts.update(reader.rows_with(spellings, ("records",)))
    return frozenset(c.text for c in wanted if sum(counts[s] for s in c.spellings) <= FEW_ROWS)


def newest(
    query: Query, memory: Memory, *, session: str = "", limit: int
) -> tuple[list[Candidate], tuple[str, ...]]:
    """Return the newest memories, for a query without words, and the errors of sources."""
    failures: list[str] = []
    candidates: list[Candidate] = []
    readers, arguments = memory.readers(), (limit, query.filters, session)
    for reader in readers:
        candidates += _asked(failures, "graph", reader, reader.recent, *arguments)
    failures = [*memory.failures, *failures]
    failures += [GRAPH_REQUIRED] if failures and not _any_graph(readers, failures) else []
    candidates.sort(key=lambda candidate: candidate.timestamp, reverse=True)
    return candidates[:limit], tuple(dict.fromkeys(failures))


def _asked(
    failures: list[str], source: str, reader: Reader, ask: Callable[..., Sequence[Row]], *asked: Any
) -> Sequence[Row]:
    """Return `ask(*asked)`. If it fails, add an error of `source` to `failures` and return []."""
    try:
        return ask(*asked)
    except DeadlinePassed:
        raise
    except FabricError as error:
        failures.append(f"{source} ({reader.kind}): {error}")
        return []


def _successors(
    query: Query, readers: Readers, known: Candidates, now: str, session: str, failures: list[str]
) -> list[Candidate]:
    """Return records not yet `known` that had replaced known ones by `now`, in up to 3 steps."""
    successors: list[Candidate] = []
    for _ in range(relevance.MAX_STEPS):
        wanted = relevance.missing([*known, *successors], now)
        arguments, count = (wanted, query.filters, session), len(successors)
        for reader in readers if wanted else ():
            successors += _asked(failures, "records", reader, reader.records_by_id, *arguments)
        if len(successors) == count:
            break
    return successors


def _near(
    query: Query, readers: Readers, known: Candidates, session: str, failures: list[str]
) -> list[Candidate]:
    """Return texts that match only by synonyms of the question's words. Their bm25 is set to 0."""
    groups = [near for near in map(concepts.near_words, concepts.concepts(query)) if near]
    if not groups:
        return []
    known_ids = {candidate.id for candidate in known}
    query = query._replace(phrases=())
    found: list[Candidate] = []
    for reader in readers:
        # A synonym in hundreds of rows identifies no memory, and ranking these rows takes long.
        counts = reader.rows_with([word for near in groups for word in near], BY_WORDS)
        rare = [[w for w in near if 0 < counts.get(w, 0) < MAX_COUNTED] for near in groups]
        wanted = [near for near in rare if near]
        for source, ask in _sources(reader, query, wanted, session, NEAR_LIMIT, True).items():
            if wanted and source in BY_WORDS:  # entities have no synonyms
                found += _asked(failures, source, reader, ask)
    return [c._replace(bm25=0.0) for c in found if c.id not in known_ids]


def _native(query: Query, memory: Memory, limit: int, failures: list[str]) -> list[Candidate]:
    """Return notes from the client's memory files, which have no index; most matches first."""
    # Imported late: only questions read these files.
    from memory_fabric.store.tiers import client_memory_files

    memory_files, failed = client_memory_files.candidates(memory, query.filters)
    failures += failed
    if query.phrases:
        return memory_files
    wanted = [c.stems.union(map(stem, concepts.near_words(c))) for c in concepts.concepts(query)]
    wanted += [frozenset(map(stem, words(hint))) for hint in query.entity_hints]
    stems = ((concepts.stems_of(note.text), note) for note in memory_files)
    notes = [(sum(not c.isdisjoint(own) for c in wanted), note) for own, note in stems]
    notes.sort(key=lambda pair: pair[0], reverse=True)
    return [note for count, note in notes[:limit] if count]


def relations_around(
    hits: Sequence[Hit], memory: Memory, *, at: str = NOW, filters: Filters = search.EVERYTHING
) -> dict[str, tuple[Relation, ...]]:
    """Map the name of each entity that a hit has or mentions to its relations valid `at` a time."""
    keys = dict.fromkeys(name_key(name) for hit in hits for name in hit.entities)
    for hit in hits:
        keys.update(dict.fromkeys(sorted(rank.keys_in(hit.text))))
    first_keys = list(keys)[:MAX_NAME_KEYS]
    around: dict[str, dict[Relation, None]] = {}
    for reader in memory.readers():
        try:
            for name, relations in reader.relations_by_key(first_keys, at, filters).items():
                around.setdefault(name, {}).update(dict.fromkeys(relations))
        except DeadlinePassed:
            raise
        except FabricError as error:
            memory.fail(f"graph ({reader.kind}): {error}")
    return {name: tuple(relations) for name, relations in around.items()}


def _sources(
    reader: Reader, query: Query, groups: Groups, session: str, limit: int, wide: bool
) -> dict[str, Callable[[], list[Candidate]]]:
    filters, phrases, hints = query.filters, query.phrases, query.entity_hints
    names = [*hints, *(word for hint in hints for word in words(hint))] or query.terms

    def named() -> list[Candidate]:
        keys = sorted(concepts.name_keys(query.asked) - concepts.WEAK - STOPWORDS)
        keys = [*map(name_key, hints), *keys][:MAX_NAME_KEYS]
        # Hints that are clearly not prose: a path, `spec.shards`, `findById`, `LOADER`.
        exact = [
            hint
            for hint in hints
            if any(sign in hint for sign in "._/")
            or (len(hint) > MAX_ABBREVIATION and not hint[1:].islower() and hint.isascii())
        ]
        observations = reader.observations_of(keys, limit, filters)
        return observations + reader.observations_with(exact, limit, filters)

    return {
        "graph": lambda: reader.observations(groups, limit, filters, phrases),
        "records": lambda: reader.records(groups, limit, filters, session, phrases),
        "episodes": lambda: reader.episodes(groups, limit, filters, phrases, neighbours=wide),
        "entities": lambda: reader.entities_named(names, ENTITY_LIMIT, filters),
        "named": named,
    }


def _any_graph(readers: Sequence[Reader], failures: Sequence[str]) -> bool:
    failed = {failure.partition(":")[0] for failure in failures}
    return any(f"graph ({reader.kind})" not in failed for reader in readers)


def valid_at(query: Query) -> str:
    """Return the time at which relations must be valid: now, the requested time, or '' (any)."""
    return query.filters.as_of or ("" if query.past else NOW)


def _walked(reader: Reader, query: Query, candidates: Candidates) -> tuple[Path, ...]:
    """Return paths from the entities that the question names, or else from similarly named ones."""
    wanted = [name_key(hint) for hint in query.entity_hints]
    wanted += sorted(concepts.name_keys(query.asked) - set(wanted) - concepts.WEAK)
    entities = reader.entities_by_key(wanted[:MAX_NAME_KEYS])
    exact = dict.fromkeys(entities[key].name for key in wanted if key in entities)
    own = [candidate for candidate in candidates if candidate.store == reader.kind]
    near = dict.fromkeys(c.entity for c in own if c.metadata.get("whole_entity"))
    starts, at = list(exact or near)[:MAX_STARTS], valid_at(query)
    edges_of = partial(reader.relations_of, at=at, filters=query.filters)
    return walk(starts, edges_of, depth=query.depth)


def _of_path(path: Path, readers: Sequence[Reader]) -> Candidate:
    nodes = dict.fromkeys(node for edge in path for node in (edge.source, edge.target))
    relations = [list(edge) for edge in path]
    return Candidate(
        id="graph:" + "; ".join(f"{edge.source} {edge.type} {edge.target}" for edge in path),
        source="graph",
        text="; ".join(f"{e.source} {e.type.replace('_', ' ')} {e.target}" for e in path),
        entity=path[0].source,
        timestamp=max(reader.stated_at(edge) for edge in path for reader in readers),
        metadata={"entityType": "relation", "entities": [*nodes], "relations": relations},
    )


Edges = Callable[[Sequence[str]], Iterable[Relation]]
MAX_DEPTH = 3
# The maximum number of entities in a walk; thousands around one entity would not help an answer.
MAX_NODES = 200
MAX_PATHS = 20
# A question with one of these words asks for everything that depends on something.
_AFFECTED = frozenset(map(stem, "break breaking affect affected impact impacted".split()))


def walk(starts: Sequence[str], edges_of: Edges, *, depth: int = DEFAULT_DEPTH) -> tuple[Path, ...]:
    """Return the shortest paths from each start to the entities within `depth` steps, in either
    direction of relations. A path may also end with a relation back to an entity reached before. A
    path that begins a longer path is left out. `edges_of` returns the relations of entities.
    """
    known: dict[str, list[Relation]] = {}
    paths = (_from(start, edges_of, min(depth, MAX_DEPTH), known) for start in starts)
    return tuple(dict.fromkeys(path for some in paths for path in some))


def most_relevant(paths: Iterable[Path], asked: Iterable[str]) -> tuple[Path, ...]:
    """Return up to twenty paths: those with the most `asked` words, among equals longest first."""
    wanted = {word for text in asked for word in words(text)}

    def by_relevance(path: Path) -> tuple[int, int]:
        named = {w for r in path for text in (r.source, r.type, r.target) for w in words(text)}
        return -len(named & wanted), -len(path)

    return tuple(sorted(paths, key=by_relevance)[:MAX_PATHS])


def answering(paths: Iterable[Path], text: str, names: frozenset[str]) -> list[Path]:
    """Return the paths of two or more relations with the most `names` of the text. A path needs
    two, or one if the text mentions each relation's type or asks what the named entity affects.
    """
    asked = frozenset(map(stem, words(text)))
    found: list[tuple[int, Path]] = []
    for path in paths:
        named = len({name_key(node) for r in path for node in (r.source, r.target)} & names)
        if len(path) < 2 or not named:
            continue
        says_each = all(asked.intersection(map(stem, words(r.type))) for r in path)
        leads_here = all(a.source == b.target for a, b in pairwise(path))
        if says_each or named > 1 or (leads_here and asked & _AFFECTED):
            found.append((named, path))
    most = max((named for named, _ in found), default=0)
    return [path for named, path in found if named == most]


def _from(start: str, edges_of: Edges, depth: int, known: dict[str, list[Relation]]) -> list[Path]:
    reached: dict[str, Path] = {start: ()}
    closing: list[Path] = []
    used: set[Relation] = set()
    frontier = [start]
    for _ in range(depth):
        unknown = {name: list[Relation]() for name in frontier if name not in known}
        for relation in edges_of(list(unknown)) if unknown else ():
            for end in {relation.source, relation.target} & unknown.keys():
                unknown[end].append(relation)
        known.update(unknown)
        steps = [(node, relation) for node in frontier for relation in known.get(node, ())]
        frontier = []
        for node, relation in steps:
            other = relation.target if relation.source == node else relation.source
            path = (*reached[node], relation)
            if other == node or relation in used:
                continue
            if other in reached:
                closing.append(path)
            elif len(reached) < MAX_NODES:
                reached[other] = path
                frontier.append(other)
            else:
                continue
            used.add(relation)
    paths = [*filter(None, reached.values()), *closing[:MAX_NODES]]
    begun = {path[:-1] for path in paths}
    return [path for path in paths if path not in begun]
