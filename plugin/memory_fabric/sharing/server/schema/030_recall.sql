-- Faster recall from a large space: narrow rows with words but no positions, plans that are made
-- once for a connection, a defined order of ties, and a number by which a space's answers are kept.

SET LOCAL maintenance_work_mem = '256MB';

-- What no search needs: the places of words, and 64 bytes for each author.
ALTER TABLE memory_fabric.heads
    ALTER author TYPE text COLLATE "C", ALTER words TYPE tsvector USING strip(words);
DO $$
DECLARE
    source text := pg_get_functiondef('memory_fabric.words_of'::regproc);
    ending text := 'to_tsvector(''pg_catalog.english'', plain)';
BEGIN
    EXECUTE replace(source, ending, 'strip(' || ending || ')');
END
$$;

-- Whole orders, so that ties have one, and the comparison with concurrent rows needs no row.
DROP INDEX memory_fabric.heads_by_key, memory_fabric.heads_by_kind, memory_fabric.heads_by_time,
    memory_fabric.heads_by_source;
CREATE INDEX heads_by_key ON memory_fabric.heads (space, key, author, clock, op_id);
CREATE INDEX heads_by_kind ON memory_fabric.heads (space, kind, created_at, op_id);
CREATE INDEX heads_by_time ON memory_fabric.heads (space, created_at, op_id);
CREATE INDEX heads_by_source ON memory_fabric.heads (space, source, kind, created_at, op_id)
    WHERE source <> '';
ANALYZE memory_fabric.heads;

-- How often what can be found in a space changed: the sum of its rows, of which a transaction
-- raises one that no other holds, so that writers do not wait for each other.
CREATE TABLE memory_fabric.changes (
    space text NOT NULL,
    writer uuid NOT NULL DEFAULT gen_random_uuid(),
    number bigint NOT NULL DEFAULT 1,
    PRIMARY KEY (space, writer)
) WITH (fillfactor = 50);
ALTER TABLE memory_fabric.changes ENABLE ROW LEVEL SECURITY;
REVOKE ALL ON memory_fabric.changes FROM PUBLIC;

CREATE FUNCTION memory_fabric.count_change() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    changed text;
BEGIN
    FOR changed IN SELECT DISTINCT c.space FROM changed c LOOP
        UPDATE memory_fabric.changes SET number = number + 1
        WHERE space = changed AND writer = (
            SELECT writer FROM memory_fabric.changes WHERE space = changed
            LIMIT 1 FOR UPDATE SKIP LOCKED);
        IF NOT FOUND THEN
            INSERT INTO memory_fabric.changes (space) VALUES (changed);
        END IF;
    END LOOP;
    RETURN NULL;
END
$$;
REVOKE ALL ON FUNCTION memory_fabric.count_change FROM PUBLIC;

CREATE TRIGGER count_insert AFTER INSERT ON memory_fabric.operations
REFERENCING NEW TABLE AS changed
FOR EACH STATEMENT EXECUTE FUNCTION memory_fabric.count_change();
CREATE TRIGGER count_update AFTER UPDATE ON memory_fabric.operations
REFERENCING NEW TABLE AS changed
FOR EACH STATEMENT EXECUTE FUNCTION memory_fabric.count_change();

-- With the state of the space, which grows: what was found there is the same as long as it is.
DROP FUNCTION memory_fabric.key_holder(bytea);
CREATE FUNCTION memory_fabric.key_holder(in_digest bytea)
RETURNS TABLE (space text, member text, name text, domain text, state bigint)
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
    SELECT k.space, k.member::text, k.name, k.domain, (
        SELECT (s.epoch::bigint << 40) + coalesce(sum(c.number), 0)::bigint FROM memory_fabric.spaces s
        LEFT JOIN memory_fabric.changes c ON c.space = s.space
        WHERE s.space = k.space GROUP BY s.epoch)
    FROM memory_fabric.keys k
    JOIN memory_fabric.members m
        ON m.space = k.space AND m.member = k.member AND m.removed_at IS NULL
    WHERE k.digest = in_digest OR k.cookie = in_digest
$$;

-- Return the share of rows of each word that many rows of a space hold.
CREATE FUNCTION memory_fabric.common_words(in_space text)
RETURNS TABLE (lexeme text, share double precision)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM memory_fabric.expect_member(in_space);
    RETURN QUERY
    SELECT e.lexeme, e.frequency::double precision FROM pg_stats s, unnest(
        s.most_common_elems::text::text[], s.most_common_elem_freqs) AS e (lexeme, frequency)
    WHERE s.schemaname = 'memory_fabric' AND s.attname = 'words' AND s.tablename = (
        SELECT c.relname FROM pg_class c WHERE c.oid = (
            SELECT h.tableoid FROM memory_fabric.heads h WHERE h.space = in_space LIMIT 1));
END
$$;
DROP FUNCTION memory_fabric.word_shares(text, text[]);

-- Return the ids of rows of these kinds that match a query, the best of each kind, with their
-- scores: the sum of the weights of the groups of words that a row holds (at most eight), less for a
-- long text. The caller's own rows are a fourth more. Of at most `in_budget` rows that are ranked;
-- the query must be selective enough (servers.http.team_words): find_heads takes them as the index
-- of words has them, find_newest_heads the newest ones. Of equal rows the newer one is better.
DROP FUNCTION memory_fabric.find_heads(
    text, text[], tsquery, tsquery[], double precision[], jsonb, integer, integer, boolean);
DO $$
DECLARE
    scored text;
    -- Each group of words and its weight in a variable: taken from a list, they are copied for
    -- every row.
    listed text;
    best text := $f$
        , numbered AS (
            SELECT s.*, row_number() OVER best AS place,
                count(*) FILTER (WHERE s.author = me) OVER best AS own_place
            FROM scored s
            WINDOW best AS (
                PARTITION BY s.kind ORDER BY s.worth DESC, s.created_at DESC, s.op_id DESC
                ROWS UNBOUNDED PRECEDING)
        )
        SELECT n.op_id, n.worth FROM numbered n
        WHERE (n.place <= in_limit OR (n.author = me AND n.own_place <= in_limit / 4))
            AND NOT EXISTS (
                SELECT FROM memory_fabric.heads g
                WHERE g.space = in_space AND g.key = n.key AND g.author = n.author
                    AND (g.clock, g.op_id) > (n.clock, n.op_id))
        ORDER BY n.place, n.op_id;
        $f$;
    head text := $f$
        CREATE FUNCTION memory_fabric.%1$s(
            in_space text, in_kinds text[], in_query tsquery, in_groups tsquery[],
            in_weights double precision[], in_filters jsonb, in_limit integer, in_budget integer
        ) RETURNS TABLE (op_id uuid, score double precision)
        LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
        SET jit = off SET enable_seqscan = off SET work_mem = '16MB'
        SET plan_cache_mode = force_generic_plan SET enable_bitmapscan = %2$s SET enable_sort = %2$s
        AS $g$
        DECLARE
            me text := memory_fabric.caller();
            everywhere boolean := memory_fabric.domain_of_caller() = '';
            every boolean := in_filters = '{}';
            since text;
            %4$s
        BEGIN
            PERFORM memory_fabric.expect_member(in_space);
            %3$s
        END
        $g$
        $f$;
BEGIN
    SELECT $f$
        RETURN QUERY
        WITH scored AS (
            SELECT h.op_id, h.kind, h.created_at, h.key, h.author, h.clock,
                22e0 / (13e0 + 0.45e0 * length(h.words)) * ($f$ || string_agg(format(
                    'CASE WHEN h.words @@ group_%s THEN weight_%s ELSE 0e0 END', i, i),
                    ' + ') || $f$) AS worth
            FROM memory_fabric.heads h
            WHERE h.space = in_space AND h.words @@ in_query
                AND (everywhere OR memory_fabric.is_visible(h.domain))
                AND (every OR memory_fabric.is_allowed(h, in_filters))$f$,
        string_agg(format('group_%1$s tsquery := in_groups[%1$s]; weight_%1$s double precision := '
            'in_weights[%1$s];', i), ' ')
    INTO scored, listed FROM generate_series(1, 8) AS i;
    EXECUTE format(head, 'find_heads', 'on', scored
        || ' AND h.kind = ANY (in_kinds) LIMIT in_budget)' || best, listed);
    EXECUTE format(head, 'find_newest_heads', 'off', $f$
        IF cardinality(in_kinds) > 1 THEN $f$ || scored || $f$ AND h.kind = ANY (in_kinds)
            ORDER BY h.created_at DESC, h.op_id DESC LIMIT in_budget)$f$ || best || $f$
        ELSE
            -- Many rows may hold a word, and none of this kind: only the newest are looked at.
            SELECT h.created_at INTO since FROM memory_fabric.heads h
            WHERE h.space = in_space AND h.kind = in_kinds[1]
            ORDER BY h.created_at DESC OFFSET 5000 LIMIT 1;
            $f$ || scored || $f$ AND h.kind = in_kinds[1] AND h.created_at >= coalesce(since, '')
            ORDER BY h.created_at DESC, h.op_id DESC LIMIT in_budget)$f$ || best || ' END IF;',
        listed);
END
$$;

-- Return the newest rows of a kind; with names, only those of entities with these names.
CREATE OR REPLACE FUNCTION memory_fabric.newest_heads(
    in_space text, in_kind text, in_names text[], in_filters jsonb, in_limit integer
) RETURNS SETOF uuid
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off AS $$
BEGIN
    PERFORM memory_fabric.expect_member(in_space);
    IF in_names IS NULL THEN
        RETURN QUERY
        SELECT h.op_id FROM memory_fabric.heads h WHERE h.space = in_space AND h.kind = in_kind
            AND memory_fabric.is_visible(h.domain) AND memory_fabric.is_allowed(h, in_filters)
            AND memory_fabric.is_current(h)
        ORDER BY h.created_at DESC, h.op_id DESC LIMIT in_limit;
    ELSE
        RETURN QUERY
        SELECT o.op_id FROM (
            SELECT DISTINCT memory_fabric.name_key(n) AS key FROM unnest(in_names) AS n) AS k,
        LATERAL (
            SELECT h.op_id, h.created_at FROM memory_fabric.heads h
            WHERE h.space = in_space AND h.source = k.key AND h.source <> '' AND h.kind = in_kind
                AND memory_fabric.is_visible(h.domain) AND memory_fabric.is_allowed(h, in_filters)
                AND memory_fabric.is_current(h)
            ORDER BY h.created_at DESC, h.op_id DESC LIMIT in_limit) AS o
        ORDER BY o.created_at DESC, o.op_id DESC LIMIT in_limit;
    END IF;
END
$$;

-- Return those of the words that a row holds; each is looked up in the index of words.
CREATE OR REPLACE FUNCTION memory_fabric.known_words(in_space text, in_words text[])
RETURNS SETOF text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off AS $$
BEGIN
    PERFORM memory_fabric.expect_member(in_space);
    RETURN QUERY
    SELECT w.word FROM unnest(in_words) AS w (word)
    WHERE EXISTS (
        SELECT FROM memory_fabric.heads h WHERE h.space = in_space
            AND h.words @@ plainto_tsquery('pg_catalog.english', w.word)
            AND memory_fabric.is_visible(h.domain) AND h.stands OFFSET 0);
END
$$;

-- A function with a query of its own is called for each row: only where it can say no.
DO $$
DECLARE
    called text;
BEGIN
    FOREACH called IN ARRAY ARRAY['names_of', 'names_like', 'newest_heads', 'related_heads',
        'heads_of', 'count_heads', 'common_words', 'known_words']
    LOOP
        EXECUTE replace(replace(pg_get_functiondef(('memory_fabric.' || called)::regproc),
            'memory_fabric.is_name_visible(n)',
            '(memory_fabric.domain_of_caller() = '''' OR memory_fabric.is_name_visible(n))'),
            'memory_fabric.is_allowed(h, in_filters)',
            '(in_filters = ''{}'' OR memory_fabric.is_allowed(h, in_filters))');
        EXECUTE format('ALTER FUNCTION memory_fabric.%I SET enable_seqscan = off', called);
        EXECUTE format(
            'ALTER FUNCTION memory_fabric.%I SET plan_cache_mode = force_generic_plan', called);
    END LOOP;
END
$$;
ALTER FUNCTION memory_fabric.count_heads SET enable_bitmapscan = off;
ALTER FUNCTION memory_fabric.common_words SET enable_bitmapscan = off;
