-- Keys of `memory-fabric serve --team`, and its queue of ingested texts.

-- A key acts in the name of its member; only digests are kept. `cookie` is the digest of what a
-- browser is given in place of the key. A key of a domain sees nothing else and writes there.
CREATE TABLE memory_fabric.keys (
    digest bytea PRIMARY KEY CHECK (length(digest) = 32),
    cookie bytea NOT NULL UNIQUE CHECK (length(cookie) = 32),
    space text NOT NULL REFERENCES memory_fabric.spaces,
    member name NOT NULL,
    name text NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
    domain text NOT NULL DEFAULT '' CHECK (length(domain) <= 100),
    created_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (space, name)
);

-- Texts that wait to be processed, and the outcome of those that were. Each member sees his own.
CREATE TABLE memory_fabric.ingested (
    id uuid PRIMARY KEY,
    space text NOT NULL REFERENCES memory_fabric.spaces,
    member name NOT NULL DEFAULT memory_fabric.caller(),
    domain text NOT NULL,
    idempotency_key text NOT NULL DEFAULT '' CHECK (length(idempotency_key) <= 200),
    digest text NOT NULL CHECK (length(digest) <= 64),
    -- The request as JSON; null once it was processed.
    body jsonb CHECK (pg_column_size(body) <= 2097152),
    length integer NOT NULL,
    state text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'done', 'dead')),
    attempts integer NOT NULL DEFAULT 0,
    due_at timestamptz NOT NULL DEFAULT now(),
    error text NOT NULL DEFAULT '',
    records text[] NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL DEFAULT now(),
    ended_at timestamptz
);
CREATE UNIQUE INDEX ingested_once ON memory_fabric.ingested (space, member, idempotency_key)
    WHERE idempotency_key <> '';
CREATE INDEX ingested_waiting ON memory_fabric.ingested (space, due_at) WHERE state = 'waiting';

-- What was said through `serve --team`, for the undo of a member's last change there.
CREATE INDEX operations_served ON memory_fabric.operations (space, author, stored_at)
    WHERE origin = 'serve-team';

-- Return whom a key or a cookie stands for; nothing if it is unknown or its member was removed.
CREATE FUNCTION memory_fabric.key_holder(in_digest bytea)
RETURNS TABLE (space text, member text, name text, domain text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT k.space, k.member::text, k.name, k.domain FROM memory_fabric.keys k
    JOIN memory_fabric.members m
        ON m.space = k.space AND m.member = k.member AND m.removed_at IS NULL
    WHERE k.digest = in_digest OR k.cookie = in_digest
$$;

-- Keep a new key of a member: the caller's own, or, for an owner, anybody's.
CREATE FUNCTION memory_fabric.add_key(
    in_space text, in_member name, in_name text, in_domain text, in_digest bytea, in_cookie bytea
) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM memory_fabric.expect_member(in_space);
    IF in_member <> memory_fabric.caller() THEN
        PERFORM memory_fabric.expect_owner(in_space);
    END IF;
    IF NOT EXISTS (SELECT FROM memory_fabric.members
        WHERE space = in_space AND member = in_member AND removed_at IS NULL)
    THEN
        RAISE EXCEPTION '% is no member of %', in_member, in_space
            USING ERRCODE = 'undefined_object';
    END IF;
    INSERT INTO memory_fabric.keys (digest, cookie, space, member, name, domain)
    VALUES (in_digest, in_cookie, in_space, in_member, in_name, in_domain);
END
$$;

-- List the keys of a space: the caller's own, or, for an owner, all.
CREATE FUNCTION memory_fabric.keys_of(in_space text)
RETURNS TABLE (name text, member text, domain text, created_at timestamptz)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM memory_fabric.expect_member(in_space);
    RETURN QUERY SELECT k.name, k.member::text, k.domain, k.created_at FROM memory_fabric.keys k
    WHERE k.space = in_space
        AND (k.member = memory_fabric.caller() OR memory_fabric.is_owner(in_space))
    ORDER BY k.created_at;
END
$$;

-- Delete a key: the caller's own, or, for an owner, anybody's. Return true if there was one.
CREATE FUNCTION memory_fabric.drop_key(in_space text, in_name text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM memory_fabric.expect_member(in_space);
    DELETE FROM memory_fabric.keys k WHERE k.space = in_space AND k.name = in_name
        AND (k.member = memory_fabric.caller() OR memory_fabric.is_owner(in_space));
    RETURN FOUND;
END
$$;

-- Return the members with a text that is due; no text leaves this function.
CREATE FUNCTION memory_fabric.members_with_texts(in_space text) RETURNS SETOF text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT DISTINCT i.member::text FROM memory_fabric.ingested i
    JOIN memory_fabric.members m
        ON m.space = i.space AND m.member = i.member AND m.removed_at IS NULL
    WHERE i.space = in_space AND i.state = 'waiting' AND i.due_at <= now()
        AND in_space IN (SELECT memory_fabric.spaces_of_caller())
$$;

REVOKE ALL ON memory_fabric.keys, memory_fabric.ingested FROM PUBLIC;
GRANT SELECT, INSERT, UPDATE ON memory_fabric.ingested TO PUBLIC;

ALTER TABLE memory_fabric.keys ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY inside ON memory_fabric.keys TO CURRENT_USER USING (memory_fabric.inside());

ALTER TABLE memory_fabric.ingested ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY inside ON memory_fabric.ingested TO CURRENT_USER USING (memory_fabric.inside());
CREATE POLICY own_texts ON memory_fabric.ingested
    USING (member = memory_fabric.caller()
        AND space = ANY (ARRAY(SELECT memory_fabric.spaces_of_caller()))
        AND memory_fabric.domain_of_caller() IN ('', domain))
    WITH CHECK (member = memory_fabric.caller()
        AND space = ANY (ARRAY(SELECT memory_fabric.spaces_of_caller()))
        AND memory_fabric.domain_of_caller() IN ('', domain));
