"""Stories of creating, relating, adding and deleting."""

from __future__ import annotations

from contract.story_steps import (
    ADA,
    API,
    BEN,
    KNOWS,
    OWNS,
    TEAM,
    USES,
    Story,
    add,
    calls,
    create,
    entity,
    forget,
    graph,
    opened,
    read,
    relate,
    relation,
    unrelate,
    unsay,
)

CREATING = (
    Story("new entities are answered as given", ("MEM-01a", "MEM-15c"), (create(*TEAM), read())),
    Story(
        "a known name is not created again",
        ("MEM-01a",),
        (create(ADA), create(ADA), create(entity("ada", kind="robot"), BEN), read()),
    ),
    Story(
        "observations for a known name are merged",
        ("MEM-01b",),
        (
            create(ADA),
            create(entity("ada", "writes Go", "likes tea"), differs="MEM-01b"),
            opened(
                "ada",
                differs="MEM-01b",
                ours=graph(entity("ada", *ADA["observations"], "likes tea", kind="person")),
            ),
        ),
    ),
    Story(
        "a name twice in one call",
        ("MEM-01c",),
        (
            create(
                entity("ada", "one"),
                entity("ada", "two"),
                differs="MEM-01c",
                ours={"entities": [entity("ada", "one")]},
            ),
            read(differs="MEM-01c", ours=graph(entity("ada", "one", "two"))),
        ),
    ),
    Story(
        "a text twice in one new entity",
        ("MEM-01d",),
        (
            create(
                entity("ada", "one", "two", "one"),
                differs="MEM-01d",
                ours={"entities": [entity("ada", "one", "two")]},
            ),
            read(differs="MEM-01d", ours=graph(entity("ada", "one", "two"))),
        ),
    ),
    Story(
        "a variant of a known name is another entity",
        ("MEM-01e", "MEM-11a"),
        (create(entity("job-queue")), create(entity("Job_Queue"), differs="MEM-01e"), read()),
    ),
    Story(
        "nothing to create",
        ("MEM-09b",),
        (
            *calls("create_entities", {"entities": []}),
            *calls("create_relations", {"relations": []}),
            *calls("add_observations", {"observations": []}),
            read(),
        ),
    ),
    Story("an entity without observations", ("MEM-01a",), (create(entity("bare")), read())),
)

RELATING = (
    Story(
        "new relations are answered as given",
        ("MEM-02a",),
        (create(*TEAM), relate(OWNS, USES), read()),
    ),
    Story(
        "a known relation is skipped",
        ("MEM-02a",),
        (create(*TEAM), relate(OWNS), relate(OWNS, USES), relate(OWNS), read()),
    ),
    Story(
        "another type or the other way round is another relation",
        ("MEM-02a",),
        (
            create(ADA, API),
            relate(OWNS, relation("ada", "OWNS", "api"), relation("api", "owns", "ada")),
            relate(relation("ada", "", "api")),
            read(),
        ),
    ),
    Story(
        "a thing related to itself",
        ("MEM-02a",),
        (create(API), relate(relation("api", "calls", "api")), read()),
    ),
    Story(
        "a relation twice in one call",
        ("MEM-02b",),
        (
            create(*TEAM),
            relate(OWNS, OWNS, differs="MEM-02b", ours={"relations": [OWNS]}),
            read(differs="MEM-02b", ours=graph(*TEAM, OWNS)),
        ),
    ),
    Story(
        "an end that does not exist",
        ("MEM-02c",),
        (
            create(ADA),
            relate(OWNS, relation("ghost", "haunts", "ada"), differs="MEM-02c"),
            read(
                differs="MEM-02c",
                ours=graph(
                    ADA,
                    entity("api", kind="unknown"),
                    entity("ghost", kind="unknown"),
                    OWNS,
                    relation("ghost", "haunts", "ada"),
                ),
            ),
        ),
    ),
)

ADDING = (
    Story(
        "only what the entity lacks is added, in order",
        ("MEM-03a", "MEM-10b"),
        (
            create(ADA, BEN),
            add(("ada", ["z", "writes Go", "a"]), ("ben", ["m"])),
            add(("ada", ["a", "z"])),
            add(("ada", ["k"]), ("ada", ["k", "l"])),
            add(("ada", [])),
            read(),
        ),
    ),
    Story(
        "a text twice in one call",
        ("MEM-03b",),
        (
            create(BEN),
            add(
                ("ben", ["a", "b", "a"]),
                differs="MEM-03b",
                ours={"results": [{"entityName": "ben", "addedObservations": ["a", "b"]}]},
            ),
            read(
                differs="MEM-03b",
                ours=graph(entity("ben", "leads the shop", "a", "b", kind="person")),
            ),
        ),
    ),
    Story(
        "texts that differ in case or space are different texts",
        ("MEM-03a",),
        (create(entity("e", "One")), add(("e", ["one", "One ", "One"])), read()),
    ),
    Story(
        "an unknown entity fails the whole call",
        ("MEM-04",),
        (
            create(ADA),
            add(("ada", ["lost"]), ("Nobody", ["x"])),
            add(("Nobody", [])),
            add(("", ["x"])),
            add(("a\nb", ["x"])),
            read(),
        ),
    ),
)

DELETING = (
    Story("an entity goes", ("MEM-05", "MEM-15c"), (create(*TEAM), forget("ben"), read())),
    Story(
        "relations at either end go along",
        ("MEM-05",),
        (
            create(*TEAM),
            relate(OWNS, USES, KNOWS),
            forget("api"),
            read(),
            forget("ada", "ben"),
            read(),
        ),
    ),
    Story(
        "what does not exist is silent",
        ("MEM-06",),
        (
            create(ADA, API),
            relate(OWNS),
            forget("Nobody", "nobody"),
            unsay(("Nobody", ["x"]), ("ada", ["never said"])),
            unrelate(KNOWS, relation("ada", "Owns", "api")),
            read(),
        ),
    ),
    Story(
        "on an empty graph, too",
        ("MEM-06",),
        (forget("ada"), unsay(("ada", ["x"])), unrelate(OWNS), read()),
    ),
    Story(
        "an observation goes",
        ("MEM-06",),
        (create(ADA), unsay(("ada", ["writes Go"])), read(), add(("ada", ["writes Go"])), read()),
    ),
    Story(
        "one of two relations goes",
        ("MEM-06",),
        (create(*TEAM), relate(OWNS, relation("ada", "wrote", "api")), unrelate(OWNS), read()),
    ),
    Story(
        "nothing to delete",
        ("MEM-09b",),
        (create(ADA), forget(), unsay(), unsay(("ada", [])), unrelate(), read()),
    ),
    Story(
        "what was deleted can be created again, and comes last",
        ("MEM-10a",),
        (create(*TEAM), forget("ada"), create(entity("ada")), relate(KNOWS), read()),
    ),
    Story(
        "the rest is untouched",
        ("MEM-18a",),
        (
            create(*TEAM, entity("odd 🎉", "\n")),
            relate(OWNS, USES, KNOWS),
            forget("ben"),
            create(entity("ada", kind="robot")),
            unsay(("api", ["listens on 8080"])),
            unrelate(OWNS),
            read(),
        ),
    ),
)
