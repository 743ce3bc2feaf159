-- Spaces, their members, and the log of their operations: what any engine that speaks PostgreSQL's
-- protocol must have to carry a log (docs/team.md says which do). Rows lie with their space, the first
-- column of every primary key. Step 20 adds what only PostgreSQL guards.
--
-- A log of before step 20 runs this again: its table of operations is set aside for that step.
-- Functions with raised rights (SECURITY DEFINER) set search_path to 'pg_catalog, pg_temp'. Those with
-- a body after RETURN are parsed here, with that search_path, and need none of their own later.

SET LOCAL search_path = pg_catalog, pg_temp;

ALTER TABLE IF EXISTS memory_fabric.operations RENAME TO operations_before;

-- Return the role that the client acts as: that of SET ROLE, else the one that logged in. Unlike
-- current_user it is the same inside a function with raised rights.
CREATE OR REPLACE FUNCTION memory_fabric.caller() RETURNS name LANGUAGE sql STABLE
RETURN CASE current_setting('role')
    WHEN 'none' THEN session_user
    ELSE current_setting('role')::name
END;

-- True within the functions with raised rights: where search_path is theirs.
CREATE OR REPLACE FUNCTION memory_fabric.inside() RETURNS boolean LANGUAGE sql STABLE
RETURN current_setting('search_path') = 'pg_catalog, pg_temp';

CREATE TABLE IF NOT EXISTS memory_fabric.spaces (
    space text PRIMARY KEY CHECK (length(space) BETWEEN 1 AND 200),
    -- Counts how often the space was moved to another cluster; `system_identifier` is the present one.
    epoch integer NOT NULL DEFAULT 1,
    system_identifier bigint NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);
-- The number of the newest operation.
ALTER TABLE memory_fabric.spaces ADD COLUMN IF NOT EXISTS last_seq bigint NOT NULL DEFAULT 0;

CREATE TABLE IF NOT EXISTS memory_fabric.members (
    space text NOT NULL REFERENCES memory_fabric.spaces,
    member name NOT NULL,
    role text NOT NULL CHECK (role IN ('owner', 'member')),
    added_at timestamptz NOT NULL DEFAULT now(),
    removed_at timestamptz,
    PRIMARY KEY (space, member)
);

-- When a member last read the log, to the hour.
CREATE TABLE IF NOT EXISTS memory_fabric.seen (
    space text NOT NULL,
    member name NOT NULL,
    seen_at timestamptz NOT NULL,
    PRIMARY KEY (space, member)
);

CREATE TABLE memory_fabric.operations (
    space text NOT NULL,
    -- The place in the order of the space, without gaps. Numbers are given under a lock that is held
    -- until the commit: whoever sees one sees all lower ones, and none appears below it later.
    seq bigint NOT NULL,
    op_id uuid NOT NULL,
    author name NOT NULL,
    origin text NOT NULL CONSTRAINT short_origin CHECK (length(origin) <= 64),
    kind text NOT NULL CONSTRAINT good_kind CHECK (kind ~ '^[a-z_]{1,32}$'),
    key text NOT NULL CONSTRAINT short_key CHECK (length(key) BETWEEN 1 AND 200),
    base uuid[] NOT NULL CONSTRAINT short_base CHECK (cardinality(base) <= 1000),
    payload jsonb NOT NULL,
    made_at timestamptz NOT NULL,
    stored_at timestamptz NOT NULL,
    -- Marks the transaction that appended it, and tells it from the same operation that was sent
    -- again after the log was set back: microseconds since 1970, before step 20 its id.
    tx bigint NOT NULL,
    -- A later operation of the same author names this one in its base: readers need it no more.
    superseded boolean NOT NULL DEFAULT false,
    CONSTRAINT operations_order PRIMARY KEY (space, seq),
    CONSTRAINT operations_once UNIQUE (space, op_id)
);

-- For purges, which must not read a whole space.
CREATE INDEX operations_keys ON memory_fabric.operations (space, key);
CREATE INDEX operations_past ON memory_fabric.operations (space, author)
    WHERE superseded AND payload ?| ARRAY['value', 'sealed'];

-- In plpgsql, which plans its query once for a connection; every search calls this.
CREATE OR REPLACE FUNCTION memory_fabric.spaces_of_caller() RETURNS SETOF text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN QUERY SELECT m.space FROM memory_fabric.members m
    WHERE m.member = memory_fabric.caller() AND m.removed_at IS NULL;
END
$$;

CREATE OR REPLACE FUNCTION memory_fabric.is_owner(in_space text) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT EXISTS (
        SELECT FROM memory_fabric.members
        WHERE space = in_space AND member = memory_fabric.caller()
            AND role = 'owner' AND removed_at IS NULL)
$$;

CREATE OR REPLACE FUNCTION memory_fabric.expect_member(in_space text) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF in_space NOT IN (SELECT memory_fabric.spaces_of_caller()) THEN
        RAISE EXCEPTION '% is no member of %', memory_fabric.caller(), in_space
            USING ERRCODE = 'insufficient_privilege';
    END IF;
END
$$;

CREATE OR REPLACE FUNCTION memory_fabric.expect_owner(in_space text) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NOT memory_fabric.is_owner(in_space) THEN
        RAISE EXCEPTION '% is no owner of %', memory_fabric.caller(), in_space
            USING ERRCODE = 'insufficient_privilege';
    END IF;
END
$$;

-- Return a payload without what its author said; keys and ids hold no words.
CREATE OR REPLACE FUNCTION memory_fabric.blank(payload jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE
RETURN jsonb_build_object('v', payload -> 'v', 'key', payload -> 'key', 'base', payload -> 'base');

-- Let one transaction at a time change a space, until it ends; return the number of the newest
-- operation. The lock lets others refer to the row.
CREATE OR REPLACE FUNCTION memory_fabric.lock(in_space text) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN (SELECT last_seq FROM memory_fabric.spaces WHERE space = in_space FOR NO KEY UPDATE);
END
$$;

-- Return the payload of an operation; refuse what is none.
CREATE OR REPLACE FUNCTION memory_fabric.checked(in_space text, in_kind text, payload jsonb)
RETURNS jsonb
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF pg_column_size(payload) > 393216 THEN
        RAISE EXCEPTION 'the payload has more than 384 KiB' USING ERRCODE = 'check_violation';
    END IF;
    -- 1e131071 is stored in a few bytes, and read as 131072 digits.
    IF octet_length(payload::text) > 524288 THEN
        RAISE EXCEPTION 'the payload has more than 512 KiB of text' USING ERRCODE = 'check_violation';
    END IF;
    IF jsonb_typeof(payload) <> 'object'
        OR jsonb_typeof(payload -> 'v') IS DISTINCT FROM 'number'
        OR jsonb_typeof(payload -> 'key') IS DISTINCT FROM 'string'
        OR jsonb_typeof(payload -> 'base') IS DISTINCT FROM 'array'
        OR NOT payload ?| ARRAY['value', 'sealed']
    THEN
        RAISE EXCEPTION 'the payload is no operation' USING ERRCODE = 'check_violation';
    END IF;
    -- A member asks for the erasure of what he said himself; an owner, of anything.
    IF in_kind = 'purge'
        AND payload #> '{value,of}' IS DISTINCT FROM jsonb_build_array(memory_fabric.caller())
        AND NOT memory_fabric.is_owner(in_space)
    THEN
        RAISE EXCEPTION 'only an owner purges what others said' USING ERRCODE = 'check_violation';
    END IF;
    RETURN payload;
END
$$;

-- Append operations that are not there yet, in the caller's name, and mark what they replace.
CREATE OR REPLACE FUNCTION memory_fabric.put(
    in_space text, in_ids uuid[], in_origins text[], in_kinds text[], in_payloads text[],
    in_times timestamptz[]
) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    me name := memory_fabric.caller();
    before bigint := memory_fabric.lock(in_space);
    newest bigint;
    -- Ids first: a plan that joins both sides may read the whole space for each of them.
    known uuid[] := ARRAY(
        SELECT op_id FROM memory_fabric.operations
        WHERE space = in_space AND op_id = ANY (in_ids));
    replaced uuid[];
BEGIN
    WITH given AS (
        SELECT DISTINCT ON (id) g.*
        FROM unnest(in_ids, in_origins, in_kinds, in_payloads, in_times)
            WITH ORDINALITY AS g (id, origin, kind, payload, made_at, place)
        WHERE id <> ALL (known)
        ORDER BY id, place
    ), good AS MATERIALIZED (
        SELECT id, origin, kind, made_at, place,
            memory_fabric.checked(in_space, kind, payload::jsonb) AS payload
        FROM given
    ), added AS (
        INSERT INTO memory_fabric.operations (
            space, seq, op_id, author, origin, kind, key, base, payload, made_at, stored_at, tx)
        SELECT in_space, before + row_number() OVER (ORDER BY place), id, me, origin, kind,
            payload ->> 'key',
            CASE payload -> 'base'
                WHEN '[]' THEN '{}'
                ELSE ARRAY(SELECT jsonb_array_elements_text(payload -> 'base')::uuid)
            END,
            payload,
            -- A clock without a battery, or a date that no calendar of the clients knows.
            CASE WHEN made_at BETWEEN '1970-01-01' AND '2999-12-31' THEN made_at ELSE now() END,
            now(), (extract(epoch FROM now()) * 1000000)::bigint
        FROM good ORDER BY place
        RETURNING seq
    )
    SELECT max(seq) INTO newest FROM added;
    UPDATE memory_fabric.spaces SET last_seq = newest WHERE space = in_space AND newest > before;
    replaced := ARRAY(
        SELECT DISTINCT b.id FROM memory_fabric.operations n, unnest(n.base) AS b (id)
        WHERE n.space = in_space AND n.seq > before);
    IF replaced <> '{}' THEN
        UPDATE memory_fabric.operations o SET superseded = true
        WHERE o.space = in_space AND o.op_id = ANY (replaced)
            AND o.author = me AND NOT o.superseded
            AND EXISTS (
                SELECT FROM memory_fabric.operations n WHERE n.space = in_space
                    AND n.key = o.key AND n.seq > before AND o.op_id = ANY (n.base));
    END IF;
END
$$;

-- Append operations in the caller's name. Return the ids of those that the log now holds as his.
CREATE OR REPLACE FUNCTION memory_fabric.append(
    in_space text, in_ids uuid[], in_origins text[], in_kinds text[], in_payloads text[],
    in_times timestamptz[]
) RETURNS SETOF uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    -- `serve --team` sets it for a key that is limited to a domain.
    domain text := coalesce(current_setting('memory_fabric.domain', true), '');
BEGIN
    PERFORM memory_fabric.expect_member(in_space);
    IF domain <> '' AND EXISTS (
        SELECT FROM (
            SELECT kind, said::jsonb AS payload FROM unnest(in_kinds, in_payloads) AS g (kind, said)
        ) AS given
        WHERE coalesce(payload #>> '{value,domain}', 'general') <> domain
            AND (payload -> 'value' = 'null'
                AND kind IN ('record', 'entity', 'observation', 'relation')) IS NOT TRUE)
    THEN
        RAISE EXCEPTION 'only the domain % is written to', domain
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM memory_fabric.put(in_space, in_ids, in_origins, in_kinds, in_payloads, in_times);
    RETURN QUERY SELECT op_id FROM memory_fabric.operations
    WHERE space = in_space AND op_id = ANY (in_ids) AND author = memory_fabric.caller();
END
$$;

-- Blank the payloads of these keys, the caller's own or, for an owner, anybody's, and say so in the
-- log. Return how many operations were blanked.
CREATE OR REPLACE FUNCTION memory_fabric.purge(in_space text, in_keys text[]) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    me name := memory_fabric.caller();
    owning boolean := memory_fabric.is_owner(in_space);
    demands text[];
    blanked bigint;
BEGIN
    PERFORM memory_fabric.expect_member(in_space);
    PERFORM memory_fabric.lock(in_space);
    demands := ARRAY(
        SELECT jsonb_build_object(
            'v', 1, 'key', key, 'base', '[]'::jsonb, 'clock', '',
            'value', jsonb_build_object('of', jsonb_agg(DISTINCT author)))::text
        FROM (
            SELECT key, author FROM memory_fabric.operations
            WHERE space = in_space AND key = ANY (in_keys) AND kind <> 'purge'
                AND (owning OR author = me)
            -- Also where nothing is left: others read it before the server was set back.
            UNION SELECT key, me FROM unnest(in_keys) AS asked (key)
            WHERE key NOT LIKE 'p:%' AND NOT EXISTS (
                SELECT FROM memory_fabric.operations o
                WHERE o.space = in_space AND o.key = asked.key AND o.kind <> 'purge')
        ) AS said
        GROUP BY key);
    UPDATE memory_fabric.operations
    SET payload = memory_fabric.blank(payload), superseded = true
    WHERE space = in_space AND key = ANY (in_keys) AND kind <> 'purge' AND (owning OR author = me);
    GET DIAGNOSTICS blanked = ROW_COUNT;
    PERFORM memory_fabric.put(in_space, array_agg(gen_random_uuid()), array_agg(''::text),
        array_agg('purge'::text), array_agg(demand), array_agg(now()))
    FROM unnest(demands) AS d (demand);
    -- What the caller replaced before may hold the same words, under keys that only he could name.
    UPDATE memory_fabric.operations SET payload = memory_fabric.blank(payload)
    WHERE space = in_space AND author = me AND superseded
        AND payload ?| ARRAY['value', 'sealed'];
    RETURN blanked;
END
$$;

-- Blank what was replaced long ago. Return how many operations were blanked. It waits for no other
-- change and holds up none but of the same rows.
CREATE OR REPLACE FUNCTION memory_fabric.compact(in_space text, older_than interval) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    blanked bigint;
BEGIN
    PERFORM memory_fabric.expect_member(in_space);
    UPDATE memory_fabric.operations SET payload = memory_fabric.blank(payload)
    WHERE space = in_space AND seq IN (
        SELECT seq FROM memory_fabric.operations
        WHERE space = in_space AND superseded AND payload ?| ARRAY['value', 'sealed']
            AND stored_at < now() - greatest(older_than, interval '30 days')
        FOR UPDATE SKIP LOCKED);
    GET DIAGNOSTICS blanked = ROW_COUNT;
    RETURN blanked;
END
$$;

-- Note that the caller read the log, at most once an hour.
CREATE OR REPLACE FUNCTION memory_fabric.mark_seen(in_space text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM memory_fabric.expect_member(in_space);
    INSERT INTO memory_fabric.seen AS s (space, member, seen_at)
    VALUES (in_space, memory_fabric.caller(), now())
    ON CONFLICT (space, member) DO UPDATE SET seen_at = excluded.seen_at
    WHERE s.seen_at < excluded.seen_at - interval '1 hour';
END
$$;

-- Give a role what every member needs; the policies decide about rows.
CREATE OR REPLACE FUNCTION memory_fabric.grant_to(in_member name) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    EXECUTE format('GRANT USAGE ON SCHEMA memory_fabric TO %I', in_member);
    EXECUTE format(
        'GRANT SELECT ON memory_fabric.spaces, memory_fabric.members, memory_fabric.seen,'
        ' memory_fabric.operations, memory_fabric.schema_version TO %I', in_member);
    EXECUTE format(
        'GRANT EXECUTE ON FUNCTION memory_fabric.caller(), memory_fabric.inside(),'
        ' memory_fabric.spaces_of_caller(), memory_fabric.is_owner(text),'
        ' memory_fabric.expect_member(text), memory_fabric.expect_owner(text),'
        ' memory_fabric.append(text, uuid[], text[], text[], text[], timestamptz[]),'
        ' memory_fabric.purge(text, text[]), memory_fabric.compact(text, interval),'
        ' memory_fabric.mark_seen(text), memory_fabric.admit(text, name, text),'
        ' memory_fabric.dismiss(text, name) TO %I', in_member);
END
$$;

-- Renew the rights of all members, after a step that added something.
CREATE OR REPLACE FUNCTION memory_fabric.grant_to_all() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM memory_fabric.grant_to(member)
    FROM (SELECT DISTINCT member FROM memory_fabric.members WHERE removed_at IS NULL) AS m
    WHERE EXISTS (SELECT FROM pg_roles WHERE rolname = member);
END
$$;

-- Refuse to leave a space without an owner other than this one; one change at a time.
CREATE OR REPLACE FUNCTION memory_fabric.expect_another_owner(in_space text, in_member name) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM FROM memory_fabric.spaces WHERE space = in_space FOR UPDATE;
    IF NOT EXISTS (
        SELECT FROM memory_fabric.members
        WHERE space = in_space AND member <> in_member AND role = 'owner' AND removed_at IS NULL)
    THEN
        RAISE EXCEPTION '% is the last owner of %', in_member, in_space
            USING ERRCODE = 'restrict_violation';
    END IF;
END
$$;

-- Let a role into a space, as 'owner' or 'member'.
CREATE OR REPLACE FUNCTION memory_fabric.admit(in_space text, in_member name, in_role text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM memory_fabric.expect_owner(in_space);
    IF in_role <> 'owner' THEN
        PERFORM memory_fabric.expect_another_owner(in_space, in_member);
    END IF;
    INSERT INTO memory_fabric.members AS m (space, member, role)
    VALUES (in_space, in_member, in_role)
    ON CONFLICT (space, member) DO UPDATE
    SET role = excluded.role, removed_at = NULL,
        added_at = CASE WHEN m.removed_at IS NULL THEN m.added_at ELSE excluded.added_at END;
    PERFORM memory_fabric.grant_to(in_member);
END
$$;

-- Take a member out of a space; what he wrote stays. Return false if he is in none.
CREATE OR REPLACE FUNCTION memory_fabric.dismiss(in_space text, in_member name) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM memory_fabric.expect_owner(in_space);
    PERFORM memory_fabric.expect_another_owner(in_space, in_member);
    UPDATE memory_fabric.members SET removed_at = now()
    WHERE space = in_space AND member = in_member AND removed_at IS NULL;
    RETURN FOUND;
END
$$;

-- Make a space, owned by the caller, unless there is one. Only the schema's owner may execute it.
CREATE OR REPLACE FUNCTION memory_fabric.create_space(in_space text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    INSERT INTO memory_fabric.spaces (space, system_identifier)
    SELECT in_space, system_identifier FROM pg_control_system()
    ON CONFLICT DO NOTHING;
    IF FOUND THEN
        INSERT INTO memory_fabric.members (space, member, role)
        VALUES (in_space, memory_fabric.caller(), 'owner');
        PERFORM memory_fabric.grant_to(memory_fabric.caller());
    END IF;
END
$$;

-- Begin an epoch of every space that comes from another cluster: both may go on from where they were
-- one, and what clients know of the one is not true of the other. Return how many. Only the schema's
-- owner may execute it.
CREATE OR REPLACE FUNCTION memory_fabric.renew() RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    here bigint := (SELECT system_identifier FROM pg_control_system());
    renewed bigint;
BEGIN
    UPDATE memory_fabric.spaces SET epoch = epoch + 1, system_identifier = here
    WHERE system_identifier <> here;
    GET DIAGNOSTICS renewed = ROW_COUNT;
    RETURN renewed;
END
$$;

REVOKE ALL ON FUNCTION memory_fabric.caller, memory_fabric.inside, memory_fabric.spaces_of_caller,
    memory_fabric.is_owner, memory_fabric.expect_member, memory_fabric.expect_owner,
    memory_fabric.lock, memory_fabric.checked, memory_fabric.put, memory_fabric.append,
    memory_fabric.blank, memory_fabric.purge, memory_fabric.compact, memory_fabric.mark_seen,
    memory_fabric.grant_to, memory_fabric.grant_to_all, memory_fabric.expect_another_owner,
    memory_fabric.admit, memory_fabric.dismiss, memory_fabric.create_space, memory_fabric.renew
FROM PUBLIC;
