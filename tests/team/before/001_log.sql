-- Spaces, their members, and the log of their operations.
--
-- Functions with raised rights (SECURITY DEFINER) set search_path to 'pg_catalog, pg_temp'. The
-- policies named `inside` let the schema's owner pass where search_path is just that, so that these
-- functions reach every row, and a query of the owner's own does not. Functions with a body after
-- RETURN are parsed here, with that search_path, and need none of their own later.

SET LOCAL search_path = pg_catalog, pg_temp;

-- Return the role that the client acts as: that of SET ROLE, else the one that logged in. Unlike
-- current_user it is the same inside a function with raised rights.
CREATE FUNCTION memory_fabric.caller() RETURNS name LANGUAGE sql STABLE
RETURN CASE current_setting('role')
    WHEN 'none' THEN session_user
    ELSE current_setting('role')::name
END;

-- True within the functions with raised rights.
CREATE FUNCTION memory_fabric.inside() RETURNS boolean LANGUAGE sql STABLE
RETURN current_setting('search_path') = 'pg_catalog, pg_temp';

CREATE TABLE memory_fabric.spaces (
    space text PRIMARY KEY CHECK (length(space) BETWEEN 1 AND 200),
    -- Counts how often the space was moved to another cluster; `system_identifier` is the present one.
    epoch integer NOT NULL DEFAULT 1,
    system_identifier bigint NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE memory_fabric.members (
    space text NOT NULL REFERENCES memory_fabric.spaces,
    member name NOT NULL,
    role text NOT NULL CHECK (role IN ('owner', 'member')),
    added_at timestamptz NOT NULL DEFAULT now(),
    removed_at timestamptz,
    PRIMARY KEY (space, member)
);

-- When a member last read the log, to the hour.
CREATE TABLE memory_fabric.seen (
    space text NOT NULL,
    member name NOT NULL,
    seen_at timestamptz NOT NULL,
    PRIMARY KEY (space, member)
);

CREATE SEQUENCE memory_fabric.operations_seq AS bigint;

CREATE TABLE memory_fabric.operations (
    op_id uuid NOT NULL,
    space text NOT NULL,
    origin text NOT NULL CHECK (length(origin) <= 64),
    kind text NOT NULL CHECK (kind ~ '^[a-z_]{1,32}$'),
    payload jsonb NOT NULL,
    made_at timestamptz NOT NULL,
    -- All others are set by the trigger `stamp`.
    author name NOT NULL,
    epoch integer NOT NULL,
    tx xid8 NOT NULL,
    seq bigint NOT NULL,
    key text NOT NULL CHECK (length(key) BETWEEN 1 AND 200),
    base uuid[] NOT NULL CHECK (cardinality(base) <= 1000),
    stored_at timestamptz NOT NULL,
    -- A later operation of the same author names this one in its base: readers need it no more.
    superseded boolean NOT NULL DEFAULT false,
    PRIMARY KEY (space, op_id)
) PARTITION BY HASH (space);

-- Kept as it is, so that a reader can limit what it asks for by pg_column_size.
ALTER TABLE memory_fabric.operations ALTER payload SET STORAGE EXTERNAL;

CREATE INDEX operations_pull ON memory_fabric.operations (space, tx, seq) WHERE NOT superseded;
-- For purges: readers wait for the end of one, which must not read a whole space.
CREATE INDEX operations_by_key ON memory_fabric.operations (space, key);
CREATE INDEX operations_replaced ON memory_fabric.operations (space, author)
    WHERE superseded AND payload ?| ARRAY['value', 'sealed'];

DO $$
BEGIN
    FOR i IN 0..7 LOOP
        EXECUTE format(
            'CREATE TABLE memory_fabric.operations_%s PARTITION OF memory_fabric.operations'
            ' FOR VALUES WITH (MODULUS 8, REMAINDER %s)', i, i);
    END LOOP;
END
$$;

CREATE FUNCTION memory_fabric.spaces_of_caller() RETURNS SETOF text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT space FROM memory_fabric.members
    WHERE member = memory_fabric.caller() AND removed_at IS NULL
$$;

CREATE FUNCTION memory_fabric.is_owner(in_space text) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT EXISTS (
        SELECT FROM memory_fabric.members
        WHERE space = in_space AND member = memory_fabric.caller()
            AND role = 'owner' AND removed_at IS NULL)
$$;

CREATE FUNCTION memory_fabric.expect_member(in_space text) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF in_space NOT IN (SELECT memory_fabric.spaces_of_caller()) THEN
        RAISE EXCEPTION '% is no member of %', memory_fabric.caller(), in_space
            USING ERRCODE = 'insufficient_privilege';
    END IF;
END
$$;

CREATE FUNCTION memory_fabric.expect_owner(in_space text) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NOT memory_fabric.is_owner(in_space) THEN
        RAISE EXCEPTION '% is no owner of %', memory_fabric.caller(), in_space
            USING ERRCODE = 'insufficient_privilege';
    END IF;
END
$$;

-- Set what a member cannot choose, and refuse what is no operation.
CREATE FUNCTION memory_fabric.stamp() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF pg_column_size(NEW.payload) > 393216 THEN
        RAISE EXCEPTION 'the payload has more than 384 KiB' USING ERRCODE = 'check_violation';
    END IF;
    -- 1e131071 is stored in a few bytes, and read as 131072 digits.
    IF octet_length(NEW.payload::text) > 524288 THEN
        RAISE EXCEPTION 'the payload has more than 512 KiB of text' USING ERRCODE = 'check_violation';
    END IF;
    IF jsonb_typeof(NEW.payload) <> 'object'
        OR jsonb_typeof(NEW.payload -> 'v') IS DISTINCT FROM 'number'
        OR jsonb_typeof(NEW.payload -> 'key') IS DISTINCT FROM 'string'
        OR jsonb_typeof(NEW.payload -> 'base') IS DISTINCT FROM 'array'
        OR NOT NEW.payload ?| ARRAY['value', 'sealed']
    THEN
        RAISE EXCEPTION 'the payload is no operation' USING ERRCODE = 'check_violation';
    END IF;
    NEW.author := memory_fabric.caller();
    NEW.key := NEW.payload ->> 'key';
    NEW.base := CASE NEW.payload -> 'base'
        WHEN '[]' THEN '{}'
        ELSE ARRAY(SELECT jsonb_array_elements_text(NEW.payload -> 'base')::uuid)
    END;
    NEW.tx := pg_current_xact_id();
    NEW.seq := nextval('memory_fabric.operations_seq');
    NEW.superseded := false;
    NEW.stored_at := now();
    -- A clock without a battery, or a date that no calendar of the clients knows.
    IF NEW.made_at IS NULL OR NEW.made_at NOT BETWEEN '1970-01-01' AND '2999-12-31' THEN
        NEW.made_at := now();
    END IF;
    SELECT epoch INTO NEW.epoch FROM memory_fabric.spaces WHERE space = NEW.space;
    IF NOT FOUND THEN
        PERFORM memory_fabric.expect_member(NEW.space);
    END IF;
    -- A member asks for the erasure of what he said himself; an owner, of anything.
    IF NEW.kind = 'purge'
        AND NEW.payload #> '{value,of}' IS DISTINCT FROM jsonb_build_array(NEW.author)
        AND NOT memory_fabric.is_owner(NEW.space)
    THEN
        RAISE EXCEPTION 'only an owner purges what others said' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END
$$;

CREATE TRIGGER stamp BEFORE INSERT ON memory_fabric.operations
FOR EACH ROW EXECUTE FUNCTION memory_fabric.stamp();

-- Mark what the inserted operations replace. Rows are locked in the order of their ids, so that two
-- machines of one member that replace the same rows wait for each other instead of deadlocking. The
-- plan of a session that saw a small log must not scan a large one.
CREATE FUNCTION memory_fabric.supersede() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
    WITH replaced AS (
        SELECT DISTINCT i.space, i.author, i.key, b.op_id FROM inserted i, unnest(i.base) b (op_id)
    ), hit AS (
        SELECT o.space, o.op_id FROM replaced r JOIN memory_fabric.operations o
            ON o.space = r.space AND o.op_id = r.op_id AND o.author = r.author AND o.key = r.key
        WHERE NOT o.superseded ORDER BY o.op_id FOR UPDATE OF o
    )
    UPDATE memory_fabric.operations o SET superseded = true
    FROM hit WHERE o.space = hit.space AND o.op_id = hit.op_id;
    RETURN NULL;
END
$$;

CREATE TRIGGER supersede AFTER INSERT ON memory_fabric.operations
REFERENCING NEW TABLE AS inserted
FOR EACH STATEMENT EXECUTE FUNCTION memory_fabric.supersede();

-- Return a payload without what its author said; keys and ids hold no words.
CREATE FUNCTION memory_fabric.blank(payload jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE
RETURN jsonb_build_object('v', payload -> 'v', 'key', payload -> 'key', 'base', payload -> 'base');

-- Refuse every other change, by whomever.
CREATE FUNCTION memory_fabric.keep() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF TG_OP <> 'UPDATE' THEN
        RAISE EXCEPTION 'operations are never deleted' USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF (NEW.op_id, NEW.space, NEW.origin, NEW.kind, NEW.made_at, NEW.author, NEW.seq, NEW.key, NEW.base)
        IS DISTINCT FROM
        (OLD.op_id, OLD.space, OLD.origin, OLD.kind, OLD.made_at, OLD.author, OLD.seq, OLD.key, OLD.base)
        OR (NEW.payload <> OLD.payload AND NEW.payload <> memory_fabric.blank(OLD.payload))
        OR (OLD.superseded AND NOT NEW.superseded)
        OR (NEW.tx <> OLD.tx AND NEW.epoch <= OLD.epoch)
    THEN
        RAISE EXCEPTION 'operations are never changed' USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NEW;
END
$$;

CREATE TRIGGER keep BEFORE UPDATE OR DELETE ON memory_fabric.operations
FOR EACH ROW EXECUTE FUNCTION memory_fabric.keep();
CREATE TRIGGER keep_all BEFORE TRUNCATE ON memory_fabric.operations
FOR EACH STATEMENT EXECUTE FUNCTION memory_fabric.keep();

-- Blank the payloads of these keys, the caller's own or, for an owner, anybody's, and say so in the
-- log. Return how many operations were blanked.
CREATE FUNCTION memory_fabric.purge(in_space text, in_keys text[]) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    owning boolean := memory_fabric.is_owner(in_space);
    blanked bigint;
BEGIN
    PERFORM memory_fabric.expect_member(in_space);
    WITH emptied AS (
        UPDATE memory_fabric.operations
        SET payload = memory_fabric.blank(payload), superseded = true
        WHERE space = in_space AND key = ANY (in_keys) AND kind <> 'purge'
            AND (owning OR author = memory_fabric.caller())
        RETURNING key, author
    ), told AS (
        INSERT INTO memory_fabric.operations (op_id, space, origin, kind, payload, made_at)
        SELECT gen_random_uuid(), in_space, '', 'purge', jsonb_build_object(
            'v', 1, 'key', key, 'base', '[]'::jsonb, 'clock', '',
            'value', jsonb_build_object('of', jsonb_agg(DISTINCT author))), now()
        FROM emptied GROUP BY key
    )
    SELECT count(*) INTO blanked FROM emptied;
    -- What the caller replaced before may hold the same words, under keys that only he could name.
    UPDATE memory_fabric.operations SET payload = memory_fabric.blank(payload)
    WHERE space = in_space AND author = memory_fabric.caller() AND superseded
        AND payload ?| ARRAY['value', 'sealed'];
    RETURN blanked;
END
$$;

-- Blank what was replaced long ago. Return how many operations were blanked.
CREATE FUNCTION memory_fabric.compact(in_space text, older_than interval) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    blanked bigint;
BEGIN
    PERFORM memory_fabric.expect_member(in_space);
    UPDATE memory_fabric.operations SET payload = memory_fabric.blank(payload)
    WHERE space = in_space AND superseded AND payload ?| ARRAY['value', 'sealed']
        AND stored_at < now() - greatest(older_than, interval '30 days');
    GET DIAGNOSTICS blanked = ROW_COUNT;
    RETURN blanked;
END
$$;

-- Note that the caller read the log, at most once an hour.
CREATE FUNCTION memory_fabric.mark_seen(in_space text) RETURNS void
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
CREATE FUNCTION memory_fabric.grant_to(in_member name) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    EXECUTE format('GRANT USAGE ON SCHEMA memory_fabric TO %I', in_member);
    EXECUTE format(
        'GRANT SELECT ON memory_fabric.spaces, memory_fabric.members, memory_fabric.seen,'
        ' memory_fabric.operations, memory_fabric.schema_version TO %I', in_member);
    EXECUTE format(
        'GRANT INSERT (op_id, space, origin, kind, payload, made_at)'
        ' ON memory_fabric.operations TO %I', in_member);
    EXECUTE format(
        'GRANT EXECUTE ON FUNCTION memory_fabric.caller(), memory_fabric.inside(),'
        ' memory_fabric.spaces_of_caller(), memory_fabric.is_owner(text),'
        ' memory_fabric.expect_member(text), memory_fabric.expect_owner(text),'
        ' memory_fabric.purge(text, text[]), memory_fabric.compact(text, interval),'
        ' memory_fabric.mark_seen(text), memory_fabric.admit(text, name, text),'
        ' memory_fabric.dismiss(text, name) TO %I', in_member);
END
$$;

-- Renew the rights of all members, after a step that added something.
CREATE FUNCTION memory_fabric.grant_to_all() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM memory_fabric.grant_to(member)
    FROM (SELECT DISTINCT member FROM memory_fabric.members WHERE removed_at IS NULL) AS m
    WHERE EXISTS (SELECT FROM pg_roles WHERE rolname = member);
END
$$;

-- Refuse to leave a space without an owner other than this one; one change at a time.
CREATE FUNCTION memory_fabric.expect_another_owner(in_space text, in_member name) RETURNS void
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
CREATE FUNCTION memory_fabric.admit(in_space text, in_member name, in_role text) RETURNS void
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
CREATE FUNCTION memory_fabric.dismiss(in_space text, in_member name) RETURNS boolean
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
CREATE FUNCTION memory_fabric.create_space(in_space text) RETURNS void
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

-- Begin an epoch of every space that comes from another cluster: transaction ids of that one mean
-- nothing here, and those above the present ones would stay invisible. Return how many. Only the
-- schema's owner may execute it.
CREATE FUNCTION memory_fabric.renew() RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    here bigint := (SELECT system_identifier FROM pg_control_system());
    renewed bigint;
BEGIN
    LOCK TABLE memory_fabric.operations IN SHARE ROW EXCLUSIVE MODE;
    UPDATE memory_fabric.operations o SET epoch = s.epoch + 1, tx = pg_current_xact_id()
    FROM memory_fabric.spaces s WHERE s.space = o.space AND s.system_identifier <> here;
    PERFORM setval('memory_fabric.operations_seq', greatest(
        (SELECT last_value FROM memory_fabric.operations_seq),
        (SELECT max(seq) FROM memory_fabric.operations)));
    UPDATE memory_fabric.spaces SET epoch = epoch + 1, system_identifier = here
    WHERE system_identifier <> here;
    GET DIAGNOSTICS renewed = ROW_COUNT;
    RETURN renewed;
END
$$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA memory_fabric FROM PUBLIC;
REVOKE ALL ON ALL TABLES IN SCHEMA memory_fabric FROM PUBLIC;

ALTER TABLE memory_fabric.spaces ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY inside ON memory_fabric.spaces TO CURRENT_USER
    USING (memory_fabric.inside());
CREATE POLICY members_read ON memory_fabric.spaces FOR SELECT
    USING (CASE WHEN memory_fabric.inside() THEN false
        ELSE space = ANY (ARRAY(SELECT memory_fabric.spaces_of_caller())) END);

ALTER TABLE memory_fabric.members ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY inside ON memory_fabric.members TO CURRENT_USER
    USING (memory_fabric.inside());
-- spaces_of_caller() reads this table, as `inside`: the question must not come back here.
CREATE POLICY members_read ON memory_fabric.members FOR SELECT
    USING (CASE WHEN memory_fabric.inside() THEN false
        ELSE space = ANY (ARRAY(SELECT memory_fabric.spaces_of_caller())) END);

ALTER TABLE memory_fabric.seen ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY inside ON memory_fabric.seen TO CURRENT_USER
    USING (memory_fabric.inside());
CREATE POLICY members_read ON memory_fabric.seen FOR SELECT
    USING (CASE WHEN memory_fabric.inside() THEN false
        ELSE space = ANY (ARRAY(SELECT memory_fabric.spaces_of_caller())) END);

ALTER TABLE memory_fabric.operations ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY inside ON memory_fabric.operations TO CURRENT_USER
    USING (memory_fabric.inside());
CREATE POLICY members_read ON memory_fabric.operations FOR SELECT
    USING (CASE WHEN memory_fabric.inside() THEN false
        ELSE space = ANY (ARRAY(SELECT memory_fabric.spaces_of_caller())) END);
CREATE POLICY members_append ON memory_fabric.operations FOR INSERT
    WITH CHECK (
        author = memory_fabric.caller()
        AND space = ANY (ARRAY(SELECT memory_fabric.spaces_of_caller())));

-- Members have no rights on partitions. The schema's owner dumps them one by one (pg_dump with
-- --enable-row-security), as far as he is a member.
DO $$
BEGIN
    FOR i IN 0..7 LOOP
        EXECUTE format(
            'ALTER TABLE memory_fabric.operations_%s'
            ' ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', i);
        EXECUTE format(
            'CREATE POLICY members_read ON memory_fabric.operations_%s FOR SELECT'
            ' USING (space = ANY (ARRAY(SELECT memory_fabric.spaces_of_caller())))', i);
        EXECUTE format(
            'CREATE TRIGGER keep_all BEFORE TRUNCATE ON memory_fabric.operations_%s'
            ' FOR EACH STATEMENT EXECUTE FUNCTION memory_fabric.keep()', i);
    END LOOP;
END
$$;
