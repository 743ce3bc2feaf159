-- Search for `memory-fabric serve --team`: one row for each operation that nothing replaces, with
-- the words, names and fields that queries need. The texts themselves stay in `operations`.
--
-- Nobody but the schema's owner reads these tables: members call functions, which check the caller
-- and return ids, and read the operations of these ids under the policies of `operations`.
-- Row-level security is not forced on the owner here, since pg_stats hides the statistics of forced
-- tables, and they tell which words are too common to rank (memory_fabric.word_shares).

-- Return a text as the words to search for: letters and digits only, without accents, with the
-- parts of CamelCase names and the pairs of characters in scripts without spaces.
CREATE FUNCTION memory_fabric.words_of(said text) RETURNS tsvector
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    -- The signs of ASCII, without control characters, which the parser takes for spaces.
    signs constant text := '!"#$%&''()*+,-./:;<=>?@[\]^_`{|}~';
    spaces constant text := repeat(' ', length(signs));
    plain text := translate(said, signs, spaces);
BEGIN
    IF octet_length(plain) > length(plain) THEN
        plain := regexp_replace(
            normalize(regexp_replace(normalize(plain, NFD), '[\u0300-\u036f]', '', 'g'), NFC),
            '[\u0080-\u00bf\u2000-\u206f\u3000-\u303f\uff00-\uff0f]+', ' ', 'g');
        IF plain ~ '[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff]' THEN
            plain := concat_ws(' ', plain, (
                SELECT string_agg(substr(run[1], i, 2), ' ')
                FROM regexp_matches(
                    plain, '[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff]{2,}', 'g') AS run,
                generate_series(1, length(run[1]) - 1) AS i));
        END IF;
    END IF;
    IF plain ~ '[a-z0-9][A-Z]|[A-Z]{2}[a-z]' THEN
        plain := plain || ' ' || regexp_replace(
            regexp_replace(plain, '([a-z0-9])([A-Z])', '\1 \2', 'g'),
            '([A-Z]+)([A-Z][a-z])', '\1 \2', 'g');
    END IF;
    RETURN to_tsvector('pg_catalog.english', plain);
END
$$;

-- Return the key that variants of a name share, as the clients' databases have it. Without a path of
-- its own, as some below, so that queries take its text in place of a call for each row.
DO $$
BEGIN
    EXECUTE format(
        'CREATE FUNCTION memory_fabric.name_key(name text) RETURNS text LANGUAGE sql IMMUTABLE AS'
        ' $f$ SELECT coalesce(nullif(pg_catalog.translate('
        'pg_catalog.lower(name %1$s), E'' \t\n\r-_'', ''''), ''''), pg_catalog.lower(name)) $f$',
        CASE WHEN EXISTS (SELECT FROM pg_collation WHERE collname = 'und-x-icu')
            THEN 'COLLATE pg_catalog."und-x-icu"' ELSE '' END);
END
$$;

CREATE TABLE memory_fabric.heads (
    space text NOT NULL,
    op_id uuid NOT NULL,
    author name NOT NULL,
    key text COLLATE "C" NOT NULL,
    kind text NOT NULL,
    clock text COLLATE "C" NOT NULL,
    -- False for a withdrawal, which hides concurrent operations before it.
    stands boolean NOT NULL,
    domain text COLLATE "C" NOT NULL,
    type text NOT NULL,
    category text NOT NULL,
    agent text NOT NULL,
    project text NOT NULL,
    created_at text COLLATE "C" NOT NULL,
    -- Keys of names: an entity's own, that of an observation, the ends of a relation.
    source text COLLATE "C" NOT NULL,
    target text COLLATE "C" NOT NULL,
    words tsvector,
    PRIMARY KEY (space, op_id)
) PARTITION BY HASH (space);

-- The names that can be meant by a word: those of entities, of the ends of relations and in
-- records, and aliases. `op_id` is one operation that holds it.
CREATE TABLE memory_fabric.names (
    space text NOT NULL,
    key text COLLATE "C" NOT NULL,
    name text NOT NULL,
    is_alias boolean NOT NULL,
    op_id uuid NOT NULL,
    PRIMARY KEY (space, key, name)
);
CREATE INDEX names_by_operation ON memory_fabric.names (space, op_id);

CREATE INDEX heads_by_key ON memory_fabric.heads (space, key, author);
CREATE INDEX heads_by_kind ON memory_fabric.heads (space, kind, created_at);
CREATE INDEX heads_by_time ON memory_fabric.heads (space, created_at);
CREATE INDEX heads_by_source ON memory_fabric.heads (space, source) WHERE source <> '';
CREATE INDEX heads_by_target ON memory_fabric.heads (space, target) WHERE target <> '';
-- People type the ends of ids; only records have keys that begin with r:.
CREATE INDEX heads_by_end ON memory_fabric.heads (space, right(key, 6)) WHERE kind = 'record';
CREATE INDEX heads_by_domain ON memory_fabric.heads (space, domain) WHERE domain <> 'general';
CREATE INDEX heads_by_words ON memory_fabric.heads USING gin (words);

DO $$
BEGIN
    FOR i IN 0..7 LOOP
        EXECUTE format(
            'CREATE TABLE memory_fabric.heads_%s PARTITION OF memory_fabric.heads'
            ' FOR VALUES WITH (MODULUS 8, REMAINDER %s)', i, i);
        -- Statistics of some 3,000 words, and fresh ones after a few per cent of changes.
        EXECUTE format(
            'ALTER TABLE memory_fabric.heads_%s ALTER COLUMN words SET STATISTICS 300,'
            ' SET (autovacuum_analyze_scale_factor = 0.05)', i);
        EXECUTE format('ALTER TABLE memory_fabric.heads_%s ENABLE ROW LEVEL SECURITY', i);
    END LOOP;
END
$$;
ALTER TABLE memory_fabric.heads ENABLE ROW LEVEL SECURITY;
ALTER TABLE memory_fabric.names ENABLE ROW LEVEL SECURITY;

-- Index operations that came.
CREATE FUNCTION memory_fabric.add_heads() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    WITH said AS (
        SELECT i.*, CASE jsonb_typeof(i.payload -> 'value')
            WHEN 'object' THEN i.payload -> 'value' ELSE '{}'::jsonb END AS v
        FROM inserted i
        WHERE i.kind IN ('record', 'entity', 'observation', 'relation') AND i.payload ? 'value'
    ), named AS (
        SELECT s.*, CASE kind
            WHEN 'record' THEN jsonb_path_query_array(v, 'lax $.entities[0 to 7][0]')
            WHEN 'entity' THEN jsonb_build_array(v -> 'name')
            WHEN 'observation' THEN jsonb_build_array(v -> 'entity')
            ELSE jsonb_build_array(v -> 'from', v -> 'to') END AS n
        FROM said s
    ), added AS (
        INSERT INTO memory_fabric.heads
        SELECT space, op_id, author, key, kind, coalesce(payload ->> 'clock', ''), v <> '{}',
            coalesce(nullif(v ->> 'domain', ''), 'general'), coalesce(v ->> 'type', ''),
            coalesce(v ->> 'category', ''), coalesce(v ->> 'agent', ''),
            coalesce(v ->> 'project', v #>> '{own,project}', ''),
            coalesce(v ->> 'created_at', to_char(
                stored_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')),
            CASE WHEN kind = 'record' OR v = '{}' THEN ''
                ELSE coalesce(memory_fabric.name_key(left(n ->> 0, 1000)), '') END,
            CASE WHEN kind = 'relation' AND v <> '{}'
                THEN coalesce(memory_fabric.name_key(left(n ->> 1, 1000)), '') ELSE '' END,
            CASE WHEN kind <> 'relation' AND v <> '{}' THEN memory_fabric.words_of(concat_ws(' ',
                left(v ->> 'what', 4000), left(v ->> 'why', 4000), left(v ->> 'text', 8000),
                left(n::text, 4000), left((v -> 'alternatives')::text, 4000),
                left((v -> 'aliases')::text, 2000),
                CASE kind WHEN 'entity' THEN left(v ->> 'type', 200) END)) END
        FROM named
    ), keyed AS (
        SELECT space, op_id, left(x.name, 300) AS name, left(x.name, 300) AS spelling,
            false AS is_alias
        FROM named, jsonb_array_elements_text(n) AS x (name)
        UNION ALL
        SELECT space, op_id, left(v ->> 'name', 300), left(x.alias, 300), true
        FROM named, jsonb_array_elements_text(
            jsonb_path_query_array(v, 'lax $.aliases[0 to 99]')) AS x (alias)
        WHERE kind = 'entity'
    )
    INSERT INTO memory_fabric.names AS known (space, key, name, is_alias, op_id)
    SELECT DISTINCT ON (space, key, name) space, key, name, is_alias, op_id
    FROM (SELECT *, memory_fabric.name_key(spelling) AS key FROM keyed) AS k
    WHERE name <> '' AND spelling <> ''
    -- All writers insert in one order, or they would wait for each other.
    ORDER BY space, key, name, is_alias
    ON CONFLICT (space, key, name) DO UPDATE SET is_alias = false
    WHERE known.is_alias AND NOT excluded.is_alias;
    RETURN NULL;
END
$$;

CREATE TRIGGER add_heads AFTER INSERT ON memory_fabric.operations
REFERENCING NEW TABLE AS inserted
FOR EACH STATEMENT EXECUTE FUNCTION memory_fabric.add_heads();

-- Drop what was replaced, withdrawn or purged, and the names that nothing else holds.
CREATE FUNCTION memory_fabric.drop_heads() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    lost record;
    other uuid;
BEGIN
    DELETE FROM memory_fabric.heads h USING changed c
    WHERE c.superseded AND h.space = c.space AND h.op_id = c.op_id;
    FOR lost IN
        SELECT n.space, n.key, n.name, n.is_alias FROM changed c
        JOIN memory_fabric.names n ON n.space = c.space AND n.op_id = c.op_id
        WHERE c.superseded ORDER BY n.space, n.key, n.name
    LOOP
        IF lost.is_alias THEN
            SELECT h.op_id INTO other FROM memory_fabric.heads h
            JOIN memory_fabric.operations o ON o.space = h.space AND o.op_id = h.op_id
            WHERE h.space = lost.space AND h.kind = 'entity' AND h.stands
                AND h.source = memory_fabric.name_key(lost.name)
                AND lost.key IN (
                    SELECT memory_fabric.name_key(left(a.alias, 300))
                    FROM jsonb_array_elements_text(jsonb_path_query_array(
                        o.payload -> 'value', 'lax $.aliases[0 to 99]')) AS a (alias))
            LIMIT 1;
        ELSE
            SELECT h.op_id INTO other FROM memory_fabric.heads h
            WHERE h.space = lost.space AND h.stands
                AND (h.source = lost.key OR h.target = lost.key) LIMIT 1;
            IF other IS NULL THEN
                SELECT h.op_id INTO other FROM memory_fabric.heads h
                JOIN memory_fabric.operations o ON o.space = h.space AND o.op_id = h.op_id
                WHERE h.space = lost.space AND h.stands
                    AND h.words @@ plainto_tsquery('pg_catalog.english', lost.name)
                    AND o.payload #> '{value,entities}'
                        @> jsonb_build_array(jsonb_build_array(lost.name))
                LIMIT 1;
            END IF;
        END IF;
        IF other IS NULL THEN
            DELETE FROM memory_fabric.names
            WHERE space = lost.space AND key = lost.key AND name = lost.name;
        ELSE
            UPDATE memory_fabric.names SET op_id = other
            WHERE space = lost.space AND key = lost.key AND name = lost.name;
        END IF;
    END LOOP;
    RETURN NULL;
END
$$;

CREATE TRIGGER drop_heads AFTER UPDATE ON memory_fabric.operations
REFERENCING NEW TABLE AS changed
FOR EACH STATEMENT EXECUTE FUNCTION memory_fabric.drop_heads();

-- The domain that the caller is limited to, '' for none: `serve --team` sets it for each
-- transaction by the caller's key.
CREATE FUNCTION memory_fabric.domain_of_caller() RETURNS text
LANGUAGE sql STABLE AS $$
    SELECT coalesce(pg_catalog.current_setting('memory_fabric.domain', true), '')
$$;

CREATE POLICY domain_read ON memory_fabric.operations AS RESTRICTIVE FOR SELECT USING (
    (SELECT memory_fabric.domain_of_caller()) = '' OR (SELECT memory_fabric.inside())
    OR coalesce(payload #>> '{value,domain}', 'general')
        = (SELECT memory_fabric.domain_of_caller()));
CREATE POLICY domain_append ON memory_fabric.operations AS RESTRICTIVE FOR INSERT WITH CHECK (
    memory_fabric.domain_of_caller() = '' OR memory_fabric.inside()
    OR (payload -> 'value' = 'null' AND kind IN ('record', 'entity', 'observation', 'relation'))
    OR coalesce(payload #>> '{value,domain}', 'general') = memory_fabric.domain_of_caller());

-- Return words with their lexemes and the share of the rows that hold all of these, 0 if rare.
CREATE FUNCTION memory_fabric.word_shares(in_space text, in_words text[])
RETURNS TABLE (word text, lexemes text[], share double precision)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    part oid := (SELECT h.tableoid FROM memory_fabric.heads h WHERE h.space = in_space LIMIT 1);
BEGIN
    PERFORM memory_fabric.expect_member(in_space);
    RETURN QUERY
    WITH asked AS (
        SELECT w.word, tsvector_to_array(memory_fabric.words_of(w.word)) AS lexemes
        FROM unnest(in_words) AS w (word)
    ), common AS (
        SELECT e.lexeme, e.frequency FROM pg_stats s, unnest(
            s.most_common_elems::text::text[], s.most_common_elem_freqs) AS e (lexeme, frequency)
        WHERE s.schemaname = 'memory_fabric' AND s.attname = 'words'
            AND s.tablename = (SELECT relname FROM pg_class WHERE oid = part)
            AND e.lexeme = ANY (SELECT unnest(a.lexemes) FROM asked a)
    )
    SELECT a.word, a.lexemes, coalesce((
        SELECT min(coalesce(c.frequency, 0)) FROM unnest(a.lexemes) AS l (lexeme)
        LEFT JOIN common c ON c.lexeme = l.lexeme), 0)::double precision
    FROM asked a;
END
$$;

-- Return how many rows a space has: exactly up to `in_most`, else as estimated for its partition.
CREATE FUNCTION memory_fabric.count_heads(in_space text, in_most integer) RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    counted bigint;
BEGIN
    PERFORM memory_fabric.expect_member(in_space);
    SELECT count(*) INTO counted FROM (
        SELECT FROM memory_fabric.heads WHERE space = in_space LIMIT in_most) AS counted_rows;
    IF counted < in_most THEN
        RETURN counted;
    END IF;
    RETURN greatest(counted, (
        SELECT c.reltuples FROM pg_class c WHERE c.oid = (
            SELECT tableoid FROM memory_fabric.heads WHERE space = in_space LIMIT 1))::bigint);
END
$$;

-- Return how many rows of each kind a space has, up to 100,000 of each: counting takes its time.
CREATE FUNCTION memory_fabric.count_kinds(in_space text, in_filters jsonb)
RETURNS TABLE (kind text, count bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off AS $$
BEGIN
    PERFORM memory_fabric.expect_member(in_space);
    RETURN QUERY EXECUTE
        'SELECT k.kind, (SELECT count(*) FROM (SELECT FROM memory_fabric.heads h
            WHERE h.space = $1 AND h.kind = k.kind AND h.stands'
        || CASE WHEN in_filters = '{}' AND memory_fabric.domain_of_caller() = '' THEN ''
            ELSE ' AND memory_fabric.is_visible(h.domain) AND memory_fabric.is_allowed(h, $2)' END
        || ' LIMIT 100000) AS some_rows)
        FROM unnest(ARRAY[''record'', ''entity'', ''observation'', ''relation'']) AS k (kind)'
        USING in_space, in_filters;
END
$$;

-- True if the filters of a query (a JSON object of lists and times) allow a row.
CREATE FUNCTION memory_fabric.is_allowed(h memory_fabric.heads, f jsonb) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT (NOT f ? 'domains' OR f -> 'domains' ? h.domain)
        AND (NOT f ? 'types' OR f -> 'types' ? lower(
            CASE h.kind WHEN 'observation' THEN (
                SELECT e.type FROM memory_fabric.heads e WHERE e.space = h.space
                    AND e.source = h.source AND e.kind = 'entity' LIMIT 1)
            ELSE h.type END))
        AND (NOT f ? 'categories' OR f -> 'categories' ? lower(h.category))
        AND (NOT f ? 'agents' OR f -> 'agents' ? h.agent)
        AND (NOT f ? 'projects' OR f -> 'projects' ? lower(h.project))
        AND (NOT f ? 'since' OR h.created_at >= f ->> 'since')
        AND (NOT f ? 'before' OR h.created_at < f ->> 'before')
        AND (NOT f ? 'as_of' OR h.created_at <= f ->> 'as_of')
$$;

-- True unless a concurrent operation of the same author on the key is shown instead.
CREATE FUNCTION memory_fabric.is_current(h memory_fabric.heads) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT h.stands AND NOT EXISTS (
        SELECT FROM memory_fabric.heads g
        WHERE g.space = h.space AND g.key = h.key AND g.author = h.author
            AND (g.clock, g.op_id) > (h.clock, h.op_id))
$$;

-- Return the records whose id ends like this, with six characters at least.
CREATE FUNCTION memory_fabric.records_ending(in_space text, in_end text) RETURNS SETOF uuid
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM memory_fabric.expect_member(in_space);
    RETURN QUERY
    SELECT h.op_id FROM memory_fabric.heads h
    WHERE h.space = in_space AND h.kind = 'record' AND right(h.key, 6) = right(in_end, 6)
        AND right(h.key, length(in_end)) = in_end
        AND memory_fabric.is_visible(h.domain) AND memory_fabric.is_current(h)
    LIMIT 20;
END
$$;

-- Return the operations on these keys, replaced ones, too, by following what each replaced.
CREATE FUNCTION memory_fabric.history_of(in_space text, in_keys text[]) RETURNS SETOF uuid
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off AS $$
BEGIN
    PERFORM memory_fabric.expect_member(in_space);
    RETURN QUERY
    WITH RECURSIVE steps (id, depth) AS (
        SELECT h.op_id, 0 FROM memory_fabric.heads h
        WHERE h.space = in_space AND h.key = ANY (in_keys)
        UNION
        SELECT b.id, s.depth + 1 FROM steps s
        JOIN memory_fabric.operations o ON o.space = in_space AND o.op_id = s.id,
        LATERAL unnest(o.base) AS b (id)
        WHERE s.depth < 50
    )
    SELECT DISTINCT id FROM steps;
END
$$;

-- True if the caller may see rows of a domain.
CREATE FUNCTION memory_fabric.is_visible(in_domain text) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT memory_fabric.domain_of_caller() IN ('', in_domain)
$$;

-- Return the ids of rows of these kinds that match a query, the best of each kind, with their
-- scores: the sum of the weights of the groups of words that a row holds, less for a long text. The
-- caller's own rows are a fourth more. Only `in_budget` rows are ranked: the query must be selective enough
-- (servers.team.word_query); with `by_time` they are the newest.
CREATE FUNCTION memory_fabric.find_heads(
    in_space text, in_kinds text[], in_query tsquery, in_groups tsquery[],
    in_weights double precision[], in_filters jsonb, in_limit integer, in_budget integer,
    by_time boolean
) RETURNS TABLE (op_id uuid, score double precision)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET jit = off SET enable_bitmapscan = on SET work_mem = '16MB' AS $$
DECLARE
    sum_of_weights text := (
        SELECT string_agg(format(
            'CASE WHEN h.words @@ $4[%s] THEN $5[%s] ELSE 0 END', i, i), ' + ')
        FROM generate_series(1, cardinality(in_groups)) AS i);
BEGIN
    PERFORM memory_fabric.expect_member(in_space);
    IF by_time THEN
        PERFORM set_config('enable_bitmapscan', 'off', true);
    END IF;
    RETURN QUERY EXECUTE
        'WITH scored AS (
            SELECT h.op_id, h.kind, h.created_at, h.author = $6 AS mine,
                (' || sum_of_weights || ')
                    * 2.2 / (1.3 + 0.9 * length(h.words) / 20.0) AS worth
            FROM memory_fabric.heads h
            WHERE h.space = $1 AND h.kind = ANY ($2) AND h.words @@ $3'
        || CASE WHEN memory_fabric.domain_of_caller() = '' THEN ''
            ELSE ' AND memory_fabric.is_visible(h.domain)' END
        || CASE WHEN in_filters = '{}' THEN ''
            ELSE ' AND memory_fabric.is_allowed(h, $7)' END
        -- A word that many rows hold may be in none of this kind: only the newest are looked at.
        || CASE WHEN by_time AND cardinality(in_kinds) = 1 THEN
            ' AND h.kind = ($2)[1] AND h.created_at >= coalesce((
                SELECT g.created_at FROM memory_fabric.heads g
                WHERE g.space = $1 AND g.kind = ($2)[1]
                ORDER BY g.created_at DESC OFFSET 5000 LIMIT 1), '''')' ELSE '' END
        || CASE WHEN by_time THEN ' ORDER BY h.created_at DESC' ELSE '' END
        || ' LIMIT $8
        ), numbered AS (
            SELECT op_id, worth, mine, row_number() OVER best AS place,
                count(*) FILTER (WHERE mine) OVER best AS own_place
            FROM scored
            WINDOW best AS (
                PARTITION BY kind ORDER BY worth DESC, created_at DESC ROWS UNBOUNDED PRECEDING)
        )
        SELECT n.op_id, n.worth FROM numbered n
        JOIN memory_fabric.heads h ON h.space = $1 AND h.op_id = n.op_id
        WHERE (n.place <= $9 OR (n.mine AND n.own_place <= $9 / 4)) AND NOT EXISTS (
            SELECT FROM memory_fabric.heads g
            WHERE g.space = $1 AND g.key = h.key AND g.author = h.author
                AND (g.clock, g.op_id) > (h.clock, h.op_id))
        ORDER BY n.place'
        USING in_space, in_kinds, in_query, in_groups, in_weights, memory_fabric.caller(),
            in_filters, in_budget, in_limit;
END
$$;

-- Return the newest rows of a kind; with names, only those of entities with these names.
CREATE FUNCTION memory_fabric.newest_heads(
    in_space text, in_kind text, in_names text[], in_filters jsonb, in_limit integer
) RETURNS SETOF uuid
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off AS $$
BEGIN
    PERFORM memory_fabric.expect_member(in_space);
    RETURN QUERY EXECUTE
        'SELECT h.op_id FROM memory_fabric.heads h WHERE h.space = $1 AND h.kind = $2'
        -- By their ids: in the order of time, all rows of the kind would be looked at for a name
        -- of few. The index of names is of rows that have one.
        || CASE WHEN in_names IS NULL THEN '' ELSE ' AND h.op_id = ANY (ARRAY(
            SELECT g.op_id FROM memory_fabric.heads g
            WHERE g.space = $1 AND g.source <> '''' AND g.source = ANY (ARRAY(
                SELECT memory_fabric.name_key(n) FROM unnest($3) AS n))))' END
        || ' AND memory_fabric.is_visible(h.domain) AND memory_fabric.is_allowed(h, $4)
            AND memory_fabric.is_current(h) ORDER BY h.created_at DESC, h.op_id DESC LIMIT $5'
        USING in_space, in_kind, in_names, in_filters, in_limit;
END
$$;

-- Return the relations with either end among these names, oldest first.
CREATE FUNCTION memory_fabric.related_heads(
    in_space text, in_names text[], in_filters jsonb, in_limit integer
) RETURNS SETOF uuid
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off AS $$
DECLARE
    keys text[] := ARRAY(SELECT memory_fabric.name_key(n) FROM unnest(in_names) AS n);
BEGIN
    PERFORM memory_fabric.expect_member(in_space);
    RETURN QUERY
    SELECT h.op_id FROM memory_fabric.heads h
    WHERE h.space = in_space AND h.kind = 'relation'
        AND ((h.source = ANY (keys) AND h.source <> '')
            OR (h.target = ANY (keys) AND h.target <> ''))
        AND memory_fabric.is_visible(h.domain) AND memory_fabric.is_allowed(h, in_filters)
        AND memory_fabric.is_current(h)
    ORDER BY h.created_at, h.op_id LIMIT in_limit;
END
$$;

-- Return what stands under these keys, by whichever authors; with `own` the caller's own heads,
-- withdrawn and concurrent ones, too.
CREATE FUNCTION memory_fabric.heads_of(
    in_space text, in_keys text[], own boolean, in_filters jsonb)
RETURNS TABLE (op_id uuid, key text, clock text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM memory_fabric.expect_member(in_space);
    RETURN QUERY
    SELECT h.op_id, h.key::text, h.clock::text FROM memory_fabric.heads h
    WHERE h.space = in_space AND h.key = ANY (in_keys)
        AND (memory_fabric.is_visible(h.domain) OR NOT h.stands)
        AND memory_fabric.is_allowed(h, in_filters)
        AND CASE WHEN own THEN h.author = memory_fabric.caller()
            ELSE memory_fabric.is_current(h) END;
END
$$;

-- True if a row that the caller may see holds the name.
CREATE FUNCTION memory_fabric.is_name_visible(n memory_fabric.names) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT memory_fabric.domain_of_caller() = '' OR EXISTS (
        SELECT FROM memory_fabric.heads h
        WHERE h.space = n.space AND h.domain = memory_fabric.domain_of_caller() AND h.stands
            AND (h.op_id = n.op_id OR h.source = n.key OR h.target = n.key))
$$;

-- Return the names that these keys mean, the names themselves before aliases.
CREATE FUNCTION memory_fabric.names_of(in_space text, in_keys text[])
RETURNS TABLE (asked text, key text, name text, is_alias boolean)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM memory_fabric.expect_member(in_space);
    RETURN QUERY
    SELECT a.asked, n.key::text, n.name, n.is_alias FROM unnest(in_keys) AS a (asked)
    JOIN memory_fabric.names n
        ON n.space = in_space AND n.key = memory_fabric.name_key(a.asked)
    WHERE memory_fabric.is_name_visible(n) ORDER BY n.is_alias, n.name;
END
$$;

-- Return those of the words that a row holds.
CREATE FUNCTION memory_fabric.known_words(in_space text, in_words text[]) RETURNS SETOF text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off AS $$
BEGIN
    PERFORM memory_fabric.expect_member(in_space);
    RETURN QUERY
    SELECT w.word FROM unnest(in_words) AS w (word)
    WHERE EXISTS (
        SELECT FROM memory_fabric.heads h WHERE h.space = in_space
            AND h.words @@ plainto_tsquery('pg_catalog.english', w.word)
            AND memory_fabric.is_visible(h.domain) AND h.stands);
END
$$;

-- True if a row has this domain.
CREATE FUNCTION memory_fabric.has_domain(in_space text, in_domain text) RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM memory_fabric.expect_member(in_space);
    RETURN memory_fabric.is_visible(in_domain) AND EXISTS (
        SELECT FROM memory_fabric.heads h
        WHERE h.space = in_space AND h.domain = in_domain AND h.stands
            AND (in_domain = 'general' OR h.domain <> 'general'));
END
$$;

-- Return the names of entities in the order in which they were first stated, after a place.
CREATE FUNCTION memory_fabric.entities_after(
    in_space text, in_seq bigint, in_filters jsonb, in_limit integer
) RETURNS TABLE (seq bigint, name text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off AS $$
BEGIN
    PERFORM memory_fabric.expect_member(in_space);
    RETURN QUERY
    SELECT o.seq, o.payload #>> '{value,name}' FROM memory_fabric.heads h
    JOIN memory_fabric.operations o ON o.space = h.space AND o.op_id = h.op_id
    WHERE h.space = in_space AND h.kind = 'entity' AND o.seq > in_seq
        AND memory_fabric.is_visible(h.domain) AND memory_fabric.is_allowed(h, in_filters)
        AND memory_fabric.is_current(h)
    ORDER BY o.seq LIMIT in_limit;
END
$$;

-- Return names that are written like a word: by trigrams where the server has pg_trgm, else by
-- their first letters.
DO $$
DECLARE
    place text;
BEGIN
    BEGIN
        CREATE EXTENSION IF NOT EXISTS pg_trgm SCHEMA memory_fabric;
    EXCEPTION WHEN insufficient_privilege OR undefined_file OR feature_not_supported THEN
        RAISE NOTICE 'pg_trgm is not available: %', SQLERRM;
    END;
    SELECT quote_ident(n.nspname) INTO place FROM pg_extension e
    JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'pg_trgm';
    IF place IS NULL THEN
        CREATE INDEX names_by_prefix ON memory_fabric.names (space, key text_pattern_ops);
    ELSE
        EXECUTE format('CREATE INDEX names_by_trigrams ON memory_fabric.names'
            ' USING gin (key %s.gin_trgm_ops)', place);
    END IF;
    EXECUTE format($f$
        CREATE FUNCTION memory_fabric.names_like(in_space text, in_word text, in_edits integer)
        RETURNS TABLE (key text, name text)
        LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
        SET jit = off AS $g$
        BEGIN
            PERFORM memory_fabric.expect_member(in_space);
            RETURN QUERY
            SELECT n.key::text, n.name FROM memory_fabric.names n
            WHERE n.space = in_space AND %s
                AND length(n.key) BETWEEN length(in_word) - in_edits AND length(in_word) + in_edits
                AND memory_fabric.is_name_visible(n)
            LIMIT 1000;
        END
        $g$
        $f$,
        CASE WHEN place IS NULL THEN 'n.key LIKE left(in_word, 2) || ''%'''
            ELSE format('n.key OPERATOR(%s.%%) in_word', place) END);
END
$$;

-- Members may call what checks its caller; the rest is for these functions only.
REVOKE ALL ON memory_fabric.heads, memory_fabric.names FROM PUBLIC;
REVOKE ALL ON FUNCTION memory_fabric.add_heads, memory_fabric.drop_heads, memory_fabric.is_allowed,
    memory_fabric.is_current, memory_fabric.is_visible, memory_fabric.is_name_visible FROM PUBLIC;
