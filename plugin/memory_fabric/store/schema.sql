-- The schema of a new database, in the version schema.LATEST. A blank line ends each statement.

-- Marks of all kinds, by key.
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

-- The graph. `said_by` names the members who state a row that this user does not state; it is empty
-- for this user's own rows.
CREATE TABLE entities (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, key TEXT NOT NULL, type TEXT NOT NULL,
    extra TEXT NOT NULL DEFAULT '', domain TEXT NOT NULL, record TEXT NOT NULL DEFAULT '',
    created_at TEXT NOT NULL, updated_at TEXT NOT NULL, said_by TEXT NOT NULL DEFAULT '');

CREATE INDEX entities_by_key ON entities (key);

CREATE INDEX entities_by_record ON entities (record) WHERE record <> '';

CREATE TABLE aliases (
    key TEXT PRIMARY KEY, alias TEXT NOT NULL, entity INTEGER NOT NULL REFERENCES entities (id)
    ON DELETE CASCADE) WITHOUT ROWID;

CREATE TABLE observations (
    id INTEGER PRIMARY KEY, entity INTEGER NOT NULL REFERENCES entities (id),
    text TEXT NOT NULL, extra TEXT NOT NULL DEFAULT '', record TEXT NOT NULL DEFAULT '',
    trust TEXT NOT NULL, source TEXT NOT NULL, session TEXT NOT NULL, agent TEXT NOT NULL,
    domain TEXT NOT NULL, created_at TEXT NOT NULL);

-- Equality on long texts is checked on rows that share this short key.
CREATE INDEX observations_by_entity ON observations (entity, substr(text, 1, 48));

CREATE TABLE relations (
    id INTEGER PRIMARY KEY, source INTEGER NOT NULL REFERENCES entities (id),
    type TEXT NOT NULL, target INTEGER NOT NULL REFERENCES entities (id),
    record TEXT NOT NULL DEFAULT '', domain TEXT NOT NULL, created_at TEXT NOT NULL, said_by TEXT
    NOT NULL DEFAULT '',
    UNIQUE (source, type, target));

CREATE INDEX relations_by_target ON relations (target);

CREATE TABLE records (
    seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, key TEXT NOT NULL, type TEXT NOT NULL,
    what TEXT NOT NULL, why TEXT NOT NULL, about TEXT NOT NULL, extra TEXT NOT NULL,
    body TEXT NOT NULL, confidence REAL NOT NULL, trust TEXT NOT NULL, source TEXT NOT NULL,
    scope TEXT NOT NULL, domain TEXT NOT NULL, session TEXT NOT NULL, agent TEXT NOT NULL,
    status TEXT NOT NULL, pinned INTEGER NOT NULL DEFAULT 0, created_at TEXT NOT NULL,
    valid_to TEXT NOT NULL DEFAULT '', superseded_by TEXT NOT NULL DEFAULT '',
    sightings INTEGER NOT NULL DEFAULT 1, promoted_at TEXT NOT NULL DEFAULT '');

CREATE INDEX records_by_key ON records (key);

CREATE INDEX records_by_time ON records (created_at);

CREATE INDEX records_by_session ON records (session);

-- Records shown in each MEMORY.md, the user's records among them; kept in the project's database.
CREATE TABLE promoted (
    root TEXT NOT NULL, record TEXT NOT NULL, since TEXT NOT NULL, PRIMARY KEY (root, record))
    WITHOUT ROWID;

-- Turns of conversations. `project` is the tag of an ingested text, empty for the database's own.
CREATE TABLE episodes (
    id INTEGER PRIMARY KEY, uuid TEXT NOT NULL UNIQUE, session TEXT NOT NULL,
    role TEXT NOT NULL, text TEXT NOT NULL, extra TEXT NOT NULL DEFAULT '',
    place TEXT NOT NULL, agent TEXT NOT NULL, domain TEXT NOT NULL,
    created_at TEXT NOT NULL, project TEXT NOT NULL DEFAULT '');

CREATE INDEX episodes_by_session ON episodes (session, id);

CREATE INDEX episodes_by_time ON episodes (created_at);

-- Operation log. An inverse is empty where it follows from the payload (operations.kinds).
CREATE TABLE operations (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, kind TEXT NOT NULL,
    payload TEXT NOT NULL, inverse TEXT NOT NULL, provenance TEXT NOT NULL,
    session TEXT NOT NULL, created_at TEXT NOT NULL, journaled INTEGER NOT NULL DEFAULT 0);

CREATE INDEX operations_unjournaled ON operations (seq) WHERE journaled = 0;

CREATE TABLE tombstones (
    id TEXT PRIMARY KEY, key INTEGER NOT NULL, created_at TEXT NOT NULL) WITHOUT ROWID;

CREATE INDEX tombstones_by_key ON tombstones (key);

-- Sessions, injections, and tasks that wait for their subagent.
CREATE TABLE sessions (
    id TEXT PRIMARY KEY, started_at TEXT NOT NULL, seen_at TEXT NOT NULL,
    loaded_at TEXT NOT NULL DEFAULT '', block TEXT NOT NULL DEFAULT '',
    prompts INTEGER NOT NULL DEFAULT 0, transcript TEXT NOT NULL DEFAULT '',
    offset INTEGER NOT NULL DEFAULT 0, checkpoint TEXT NOT NULL DEFAULT '',
    ended_at TEXT NOT NULL DEFAULT '') WITHOUT ROWID;

CREATE TABLE injections (
    session TEXT NOT NULL, agent TEXT NOT NULL, memory TEXT NOT NULL, prompt INTEGER NOT NULL,
    channel TEXT NOT NULL, created_at TEXT NOT NULL,
    PRIMARY KEY (session, agent, memory)) WITHOUT ROWID;

CREATE TABLE tasks (
    id TEXT PRIMARY KEY, session TEXT NOT NULL, agent_type TEXT NOT NULL, prompt TEXT NOT NULL,
    created_at TEXT NOT NULL, taken_by TEXT NOT NULL DEFAULT '') WITHOUT ROWID;

CREATE INDEX tasks_by_session ON tasks (session, agent_type);

-- Search. The FTS5 tables have external content and are kept up to date by triggers: no other code
-- writes them.
CREATE VIRTUAL TABLE entities_fts USING fts5 (
    name, type, extra, content='entities', content_rowid='id',
    tokenize='porter unicode61 remove_diacritics 2');

CREATE TRIGGER entities_added AFTER INSERT ON entities BEGIN
    INSERT INTO entities_fts (rowid, name, type, extra)
    VALUES (new.id, new.name, new.type, new.extra); END;

CREATE TRIGGER entities_removed AFTER DELETE ON entities BEGIN
    INSERT INTO entities_fts (entities_fts, rowid, name, type, extra)
    VALUES ('delete', old.id, old.name, old.type, old.extra); END;

CREATE TRIGGER entities_changed AFTER UPDATE OF name, type, extra ON entities BEGIN
    INSERT INTO entities_fts (entities_fts, rowid, name, type, extra)
    VALUES ('delete', old.id, old.name, old.type, old.extra);
    INSERT INTO entities_fts (rowid, name, type, extra)
    VALUES (new.id, new.name, new.type, new.extra); END;

CREATE VIEW observation_rows AS
    SELECT o.id AS id, e.name AS entity, o.text AS text, o.extra AS extra
    FROM observations AS o JOIN entities AS e ON e.id = o.entity;

CREATE VIRTUAL TABLE observations_fts USING fts5 (
    entity, text, extra, content='observation_rows', content_rowid='id',
    tokenize='porter unicode61 remove_diacritics 2');

CREATE TRIGGER observations_added AFTER INSERT ON observations BEGIN
    INSERT INTO observations_fts (rowid, entity, text, extra)
    SELECT new.id, name, new.text, new.extra FROM entities WHERE id = new.entity; END;

CREATE TRIGGER observations_removed AFTER DELETE ON observations BEGIN
    INSERT INTO observations_fts (observations_fts, rowid, entity, text, extra)
    SELECT 'delete', old.id, name, old.text, old.extra FROM entities WHERE id = old.entity;
    END;

CREATE VIRTUAL TABLE records_fts USING fts5 (
    what, why, about, extra, content='records', content_rowid='seq',
    tokenize='porter unicode61 remove_diacritics 2');

CREATE TRIGGER records_added AFTER INSERT ON records BEGIN
    INSERT INTO records_fts (rowid, what, why, about, extra)
    VALUES (new.seq, new.what, new.why, new.about, new.extra); END;

CREATE TRIGGER records_removed AFTER DELETE ON records BEGIN
    INSERT INTO records_fts (records_fts, rowid, what, why, about, extra)
    VALUES ('delete', old.seq, old.what, old.why, old.about, old.extra); END;

CREATE TRIGGER records_changed AFTER UPDATE OF what, why, about, extra ON records BEGIN
    INSERT INTO records_fts (records_fts, rowid, what, why, about, extra)
    VALUES ('delete', old.seq, old.what, old.why, old.about, old.extra);
    INSERT INTO records_fts (rowid, what, why, about, extra)
    VALUES (new.seq, new.what, new.why, new.about, new.extra); END;

CREATE VIRTUAL TABLE episodes_fts USING fts5 (
    text, extra, content='episodes', content_rowid='id',
    tokenize='porter unicode61 remove_diacritics 2');

CREATE TRIGGER episodes_added AFTER INSERT ON episodes BEGIN
    INSERT INTO episodes_fts (rowid, text, extra) VALUES (new.id, new.text, new.extra); END;

CREATE TRIGGER episodes_removed AFTER DELETE ON episodes BEGIN
    INSERT INTO episodes_fts (episodes_fts, rowid, text, extra)
    VALUES ('delete', old.id, old.text, old.extra); END;

-- All records that state a row, not only the one that added it: the row is deleted with the last.
CREATE TABLE claims (
    record TEXT NOT NULL, kind TEXT NOT NULL, row INTEGER NOT NULL,
    PRIMARY KEY (record, kind, row)) WITHOUT ROWID;

CREATE INDEX claims_by_row ON claims (kind, row);

CREATE TRIGGER observations_unclaimed AFTER DELETE ON observations BEGIN
    DELETE FROM claims WHERE kind = 'observations' AND row = old.id; END;

CREATE TRIGGER relations_unclaimed AFTER DELETE ON relations BEGIN
    DELETE FROM claims WHERE kind = 'relations' AND row = old.id; END;

-- Trigrams for substring search; never ranked, so only row ids are stored.
CREATE VIRTUAL TABLE entities_trigrams USING fts5 (
    name, type, content='entities', content_rowid='id', tokenize='trigram', detail='none',
    columnsize='0');

CREATE TRIGGER entities_split AFTER INSERT ON entities BEGIN
    INSERT INTO entities_trigrams (rowid, name, type) VALUES (new.id, new.name, new.type);
    END;

CREATE TRIGGER entities_unsplit AFTER DELETE ON entities BEGIN
    INSERT INTO entities_trigrams (entities_trigrams, rowid, name, type)
    VALUES ('delete', old.id, old.name, old.type); END;

CREATE TRIGGER entities_resplit AFTER UPDATE OF name, type ON entities BEGIN
    INSERT INTO entities_trigrams (entities_trigrams, rowid, name, type)
    VALUES ('delete', old.id, old.name, old.type);
    INSERT INTO entities_trigrams (rowid, name, type) VALUES (new.id, new.name, new.type);
    END;

CREATE VIRTUAL TABLE observations_trigrams USING fts5 (
    text, content='observations', content_rowid='id', tokenize='trigram', detail='none',
    columnsize='0');

CREATE TRIGGER observations_split AFTER INSERT ON observations BEGIN
    INSERT INTO observations_trigrams (rowid, text) VALUES (new.id, new.text); END;

CREATE TRIGGER observations_unsplit AFTER DELETE ON observations BEGIN
    INSERT INTO observations_trigrams (observations_trigrams, rowid, text)
    VALUES ('delete', old.id, old.text); END;

-- The ingest queue: texts from other programs as they came, and their state. Times are ISO 8601.
CREATE TABLE intake (
    seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, key TEXT NOT NULL DEFAULT '',
    digest TEXT NOT NULL, body TEXT NOT NULL, state TEXT NOT NULL DEFAULT 'waiting',
    attempts INTEGER NOT NULL DEFAULT 0, due_at TEXT NOT NULL, worker TEXT NOT NULL DEFAULT '',
    leased_until TEXT NOT NULL DEFAULT '', error TEXT NOT NULL DEFAULT '',
    result TEXT NOT NULL DEFAULT '', created_at TEXT NOT NULL,
    ended_at TEXT NOT NULL DEFAULT '');

CREATE UNIQUE INDEX intake_by_key ON intake (key) WHERE key <> '';

CREATE INDEX intake_open ON intake (state, due_at, seq) WHERE state <> 'done';

-- Prompts as they came, for the check of quotations: `answered` once their turn has ended, with the
-- origin of each (store.conversations.prompts).
CREATE TABLE prompts (
    seq INTEGER PRIMARY KEY, session TEXT NOT NULL, created_at TEXT NOT NULL,
    text TEXT NOT NULL, answered INTEGER NOT NULL DEFAULT 0, origin TEXT NOT NULL DEFAULT 'typed');

CREATE INDEX prompts_by_session ON prompts (session, answered);

-- Versions of the files that records name (store.projects.file_states). `files_due` are records whose files
-- are to be read: new ones, and those that were reworded, noted again, kept or confirmed.
CREATE TABLE file_states (
    record TEXT NOT NULL, path TEXT NOT NULL, blob_id TEXT NOT NULL, size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL, PRIMARY KEY (record, path)) WITHOUT ROWID;

CREATE TABLE files_due (record TEXT PRIMARY KEY) WITHOUT ROWID;

-- Not INSERT OR IGNORE: the policy of the statement that fires a trigger overrides its own.
CREATE TRIGGER records_name_files AFTER INSERT ON records
    WHEN new.scope IN ('team', 'local')
    BEGIN
        INSERT INTO files_due SELECT new.id WHERE NOT EXISTS (SELECT 1 FROM files_due WHERE
        record = new.id);
    END;

CREATE TRIGGER records_rename_files AFTER UPDATE OF what, why, body, sightings, trust,
        status ON records
    WHEN new.scope IN ('team', 'local') AND ((new.what, new.why, new.sightings,
        new.trust, json_extract(new.body, '$.evidence.confirmed')) IS NOT (old.what, old.why,
        old.sightings, old.trust, json_extract(old.body, '$.evidence.confirmed')) OR (new.status =
        'active' AND old.status <> 'active'))
    BEGIN
        INSERT INTO files_due SELECT new.id WHERE NOT EXISTS (SELECT 1 FROM files_due WHERE
        record = new.id);
    END;

CREATE TRIGGER records_forget_files AFTER DELETE ON records BEGIN
    DELETE FROM file_states WHERE record = old.id;
    DELETE FROM files_due WHERE record = old.id; END;

-- Texts given to the model, and whether they were followed (store.conversations.worth): one row for
-- each item of a text; `memory` is '' for text that tells no memory. `followed` is NULL until judged.
CREATE TABLE told (
    id INTEGER PRIMARY KEY, session TEXT NOT NULL, agent TEXT NOT NULL, channel TEXT NOT NULL,
    memory TEXT NOT NULL, kind TEXT NOT NULL, chars INTEGER NOT NULL, prompt INTEGER NOT NULL,
    created_at TEXT NOT NULL, followed INTEGER, judged_at TEXT NOT NULL DEFAULT '');

CREATE INDEX told_by_session ON told (session, id);

-- Embeddings of memories (semantic), each of the text of one row; a change of the text deletes it.
-- A `seq` is never used again, so that a reader finds what was added.
CREATE TABLE vectors (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, row INTEGER NOT NULL,
    model TEXT NOT NULL, vector BLOB NOT NULL, UNIQUE (kind, row));

CREATE TRIGGER records_unembedded AFTER DELETE ON records BEGIN
    DELETE FROM vectors WHERE kind = 'records' AND row = old.seq; END;

CREATE TRIGGER records_reworded AFTER UPDATE OF what, why ON records
    WHEN old.what <> new.what OR old.why <> new.why BEGIN
    DELETE FROM vectors WHERE kind = 'records' AND row = old.seq; END;

CREATE TRIGGER observations_unembedded AFTER DELETE ON observations BEGIN
    DELETE FROM vectors WHERE kind = 'observations' AND row = old.id; END;

CREATE TRIGGER observations_reworded AFTER UPDATE OF text ON observations
    WHEN old.text <> new.text BEGIN
    DELETE FROM vectors WHERE kind = 'observations' AND row = old.id; END;

CREATE TRIGGER episodes_unembedded AFTER DELETE ON episodes BEGIN
    DELETE FROM vectors WHERE kind = 'episodes' AND row = old.id; END;

CREATE TRIGGER episodes_reworded AFTER UPDATE OF text ON episodes
    WHEN old.text <> new.text BEGIN
    DELETE FROM vectors WHERE kind = 'episodes' AND row = old.id; END;

-- Records that act on tool calls (store.home.launch_marks).
CREATE INDEX records_bound ON records (seq) WHERE instr(body, '"when"') > 0;

CREATE INDEX records_of_fixes ON records (seq) WHERE type = 'solution';

-- The shared log of a team. Only a database with the row 'team space' in `meta` is tied to one: for
-- every other the triggers cost a look at `meta`. Here are operations that nothing replaces, own and
-- of other members; see sharing.replica.heads.
CREATE TABLE team_heads (
    op_id TEXT PRIMARY KEY, key TEXT NOT NULL, author TEXT NOT NULL, origin TEXT NOT NULL,
    kind TEXT NOT NULL, base TEXT NOT NULL, clock TEXT NOT NULL, value TEXT NOT NULL,
    made_at TEXT NOT NULL, state TEXT NOT NULL, form INTEGER NOT NULL,
    payload TEXT NOT NULL DEFAULT '', seen INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;

CREATE INDEX team_heads_by_key ON team_heads (key, author);

CREATE INDEX team_heads_by_state ON team_heads (state, clock);

-- Which records of members another one closes: the one that closes them may come later.
CREATE INDEX team_heads_closed ON team_heads (json_extract(value, '$.superseded_by'))
    WHERE state = 'theirs' AND kind = 'record' AND value <> '';

-- Rows of this user that changed since they were sent; keys hold names and texts.
CREATE TABLE team_due (kind TEXT, key TEXT, PRIMARY KEY (kind, key)) WITHOUT ROWID;

CREATE TRIGGER team_record_added AFTER INSERT ON records
    WHEN new.source <> 'journal' AND new.scope IN ('team', 'user') AND EXISTS (SELECT 1
    FROM meta WHERE key = 'team space')
    BEGIN
        INSERT INTO team_due SELECT 'record', due.key FROM (SELECT new.id AS key) AS due
        WHERE NOT EXISTS (SELECT 1 FROM team_due AS d WHERE d.kind = 'record' AND d.key = due.key);
    END;

CREATE TRIGGER team_record_removed AFTER DELETE ON records
    WHEN old.source <> 'journal' AND old.scope IN ('team', 'user') AND EXISTS (SELECT 1
    FROM meta WHERE key = 'team space')
    BEGIN
        INSERT INTO team_due SELECT 'record', due.key FROM (SELECT old.id AS key) AS due
        WHERE NOT EXISTS (SELECT 1 FROM team_due AS d WHERE d.kind = 'record' AND d.key = due.key);
    END;

CREATE TRIGGER team_record_changed AFTER UPDATE OF type, what, why, body, confidence, trust,
        source, scope, domain, status, pinned, created_at, valid_to, superseded_by ON records
    WHEN ((old.source <> 'journal' AND old.scope IN ('team', 'user')) OR (new.source <>
        'journal' AND new.scope IN ('team', 'user'))) AND EXISTS (SELECT 1 FROM meta WHERE key =
        'team space')
    BEGIN
        INSERT INTO team_due SELECT 'record', due.key FROM (SELECT old.id AS key) AS due
        WHERE NOT EXISTS (SELECT 1 FROM team_due AS d WHERE d.kind = 'record' AND d.key = due.key);
        INSERT INTO team_due SELECT 'record', due.key FROM (SELECT new.id AS key) AS due
        WHERE NOT EXISTS (SELECT 1 FROM team_due AS d WHERE d.kind = 'record' AND d.key = due.key);
    END;

CREATE TRIGGER team_observation_added AFTER INSERT ON observations
    WHEN new.source <> 'journal' AND EXISTS (SELECT 1 FROM meta WHERE key = 'team space')
    BEGIN
        INSERT INTO team_due SELECT 'observation', due.key FROM (SELECT json_array(name,
        new.text) AS key FROM entities WHERE id = new.entity) AS due WHERE NOT EXISTS (SELECT 1 FROM
        team_due AS d WHERE d.kind = 'observation' AND d.key = due.key);
    END;

CREATE TRIGGER team_observation_removed AFTER DELETE ON observations
    WHEN old.source <> 'journal' AND EXISTS (SELECT 1 FROM meta WHERE key = 'team space')
    BEGIN
        INSERT INTO team_due SELECT 'observation', due.key FROM (SELECT json_array(name,
        old.text) AS key FROM entities WHERE id = old.entity) AS due WHERE NOT EXISTS (SELECT 1 FROM
        team_due AS d WHERE d.kind = 'observation' AND d.key = due.key);
    END;

CREATE TRIGGER team_observation_changed AFTER UPDATE OF text, record, source, domain,
        created_at ON observations
    WHEN ((old.source <> 'journal') OR (new.source <> 'journal')) AND EXISTS (SELECT 1
    FROM meta WHERE key = 'team space')
    BEGIN
        INSERT INTO team_due SELECT 'observation', due.key FROM (SELECT json_array(name,
        old.text) AS key FROM entities WHERE id = old.entity) AS due WHERE NOT EXISTS (SELECT 1 FROM
        team_due AS d WHERE d.kind = 'observation' AND d.key = due.key);
        INSERT INTO team_due SELECT 'observation', due.key FROM (SELECT json_array(name,
        new.text) AS key FROM entities WHERE id = new.entity) AS due WHERE NOT EXISTS (SELECT 1 FROM
        team_due AS d WHERE d.kind = 'observation' AND d.key = due.key);
    END;

CREATE TRIGGER team_relation_added AFTER INSERT ON relations
    WHEN new.said_by = '' AND EXISTS (SELECT 1 FROM meta WHERE key = 'team space')
    BEGIN
        INSERT INTO team_due SELECT 'relation', due.key FROM (SELECT json_array(s.name,
        new.type, t.name) AS key FROM entities AS s JOIN entities AS t ON t.id = new.target WHERE
        s.id = new.source) AS due WHERE NOT EXISTS (SELECT 1 FROM team_due AS d WHERE d.kind =
        'relation' AND d.key = due.key);
    END;

CREATE TRIGGER team_relation_removed AFTER DELETE ON relations
    WHEN old.said_by = '' AND EXISTS (SELECT 1 FROM meta WHERE key = 'team space')
    BEGIN
        INSERT INTO team_due SELECT 'relation', due.key FROM (SELECT json_array(s.name,
        old.type, t.name) AS key FROM entities AS s JOIN entities AS t ON t.id = old.target WHERE
        s.id = old.source) AS due WHERE NOT EXISTS (SELECT 1 FROM team_due AS d WHERE d.kind =
        'relation' AND d.key = due.key);
    END;

CREATE TRIGGER team_relation_changed AFTER UPDATE OF type, record, said_by, domain,
        created_at ON relations
    WHEN ((old.said_by = '') OR (new.said_by = '')) AND EXISTS (SELECT 1 FROM meta WHERE
        key = 'team space')
    BEGIN
        INSERT INTO team_due SELECT 'relation', due.key FROM (SELECT json_array(s.name,
        old.type, t.name) AS key FROM entities AS s JOIN entities AS t ON t.id = old.target WHERE
        s.id = old.source) AS due WHERE NOT EXISTS (SELECT 1 FROM team_due AS d WHERE d.kind =
        'relation' AND d.key = due.key);
        INSERT INTO team_due SELECT 'relation', due.key FROM (SELECT json_array(s.name,
        new.type, t.name) AS key FROM entities AS s JOIN entities AS t ON t.id = new.target WHERE
        s.id = new.source) AS due WHERE NOT EXISTS (SELECT 1 FROM team_due AS d WHERE d.kind =
        'relation' AND d.key = due.key);
    END;

CREATE TRIGGER team_entity_added AFTER INSERT ON entities
    WHEN new.said_by = '' AND EXISTS (SELECT 1 FROM meta WHERE key = 'team space')
    BEGIN
        INSERT INTO team_due SELECT 'entity', due.key FROM (SELECT json_array(new.name) AS
        key) AS due WHERE NOT EXISTS (SELECT 1 FROM team_due AS d WHERE d.kind = 'entity' AND d.key
        = due.key);
    END;

CREATE TRIGGER team_entity_removed AFTER DELETE ON entities
    WHEN old.said_by = '' AND EXISTS (SELECT 1 FROM meta WHERE key = 'team space')
    BEGIN
        INSERT INTO team_due SELECT 'entity', due.key FROM (SELECT json_array(old.name) AS
        key) AS due WHERE NOT EXISTS (SELECT 1 FROM team_due AS d WHERE d.kind = 'entity' AND d.key
        = due.key);
    END;

CREATE TRIGGER team_entity_changed AFTER UPDATE OF name, type, record, said_by, domain,
        created_at ON entities
    WHEN ((old.said_by = '') OR (new.said_by = '')) AND EXISTS (SELECT 1 FROM meta WHERE
        key = 'team space')
    BEGIN
        INSERT INTO team_due SELECT 'entity', due.key FROM (SELECT json_array(old.name) AS
        key) AS due WHERE NOT EXISTS (SELECT 1 FROM team_due AS d WHERE d.kind = 'entity' AND d.key
        = due.key);
        INSERT INTO team_due SELECT 'entity', due.key FROM (SELECT json_array(new.name) AS
        key) AS due WHERE NOT EXISTS (SELECT 1 FROM team_due AS d WHERE d.kind = 'entity' AND d.key
        = due.key);
    END;

CREATE TRIGGER team_alias_added AFTER INSERT ON aliases
    WHEN EXISTS (SELECT 1 FROM meta WHERE key = 'team space')
    BEGIN
        INSERT INTO team_due SELECT 'entity', due.key FROM (SELECT json_array(name) AS key
        FROM entities WHERE id = new.entity) AS due WHERE NOT EXISTS (SELECT 1 FROM team_due AS d
        WHERE d.kind = 'entity' AND d.key = due.key);
    END;

CREATE TRIGGER team_alias_removed AFTER DELETE ON aliases
    WHEN EXISTS (SELECT 1 FROM meta WHERE key = 'team space')
    BEGIN
        INSERT INTO team_due SELECT 'entity', due.key FROM (SELECT json_array(name) AS key
        FROM entities WHERE id = old.entity) AS due WHERE NOT EXISTS (SELECT 1 FROM team_due AS d
        WHERE d.kind = 'entity' AND d.key = due.key);
    END;

-- What a session's start and end tell is few records among many. A query uses such an index if it
-- repeats the condition word by word.
CREATE INDEX records_of_sessions ON records (created_at) WHERE type = 'session';

CREATE INDEX records_open ON records (created_at) WHERE type IN ('question', 'blocker');

CREATE INDEX records_pinned ON records (created_at) WHERE pinned = 1;

CREATE INDEX records_of_user ON records (created_at) WHERE trust = 'user';

CREATE INDEX records_of_others ON records (created_at) WHERE source = 'journal';

CREATE INDEX records_waiting ON records (created_at) WHERE status = 'candidate';

CREATE INDEX records_contradictory ON records (created_at) WHERE instr(body, '"contradicts"') > 0;
