-- One order for each space. A log of before has one of its server, by transactions: its operations
-- get their numbers in that order here, so that all clients go on from where they were.
--
-- Below that is what guards the log on PostgreSQL beyond the rights of step 1: row-level security,
-- also of the schema's owner, and triggers that keep him from changing an operation. The policies
-- named `inside` let him pass where search_path is that of the functions with raised rights, so that
-- these reach every row, and a query of his own does not.

SET LOCAL search_path = pg_catalog, pg_temp;

-- Kept as it is, so that a reader can limit what it asks for by pg_column_size.
ALTER TABLE memory_fabric.operations ALTER payload SET STORAGE EXTERNAL;
-- The plan of a session that saw a small log must not scan a large one.
ALTER FUNCTION memory_fabric.put SET enable_seqscan = off;
ALTER FUNCTION memory_fabric.put SET enable_hashjoin = off;
ALTER FUNCTION memory_fabric.put SET enable_mergejoin = off;
ALTER FUNCTION memory_fabric.put SET jit = off;

DO $$
BEGIN
    IF to_regclass('memory_fabric.operations_before') IS NULL THEN
        RETURN;
    END IF;
    INSERT INTO memory_fabric.operations (space, seq, op_id, author, origin, kind, key, base,
        payload, made_at, stored_at, tx, superseded)
    SELECT space, row_number() OVER (PARTITION BY space ORDER BY tx, seq), op_id, author, origin,
        kind, key, base, payload, made_at, stored_at, tx::text::bigint, superseded
    FROM memory_fabric.operations_before ORDER BY space, tx, seq;
    UPDATE memory_fabric.spaces s SET last_seq = coalesce(
        (SELECT max(o.seq) FROM memory_fabric.operations o WHERE o.space = s.space), 0);
    ANALYZE memory_fabric.operations;
    DROP TABLE memory_fabric.operations_before;
    DROP SEQUENCE memory_fabric.operations_seq;
    DROP FUNCTION memory_fabric.stamp, memory_fabric.supersede;
END
$$;

-- Refuse every other change, by whomever: nobody states another author, place or time.
CREATE OR REPLACE FUNCTION memory_fabric.keep() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        -- All rows of a statement at once: a query for each row takes most of the time of an append.
        IF EXISTS (
            SELECT FROM inserted WHERE author <> memory_fabric.caller() OR superseded
                OR stored_at <> now() OR tx <> (extract(epoch FROM now()) * 1000000)::bigint
                OR key IS DISTINCT FROM payload ->> 'key'
        ) OR EXISTS (
            SELECT FROM (
                SELECT space, min(seq) AS first, max(seq) - min(seq) + 1 - count(*) AS gaps
                FROM inserted GROUP BY space
            ) AS added
            WHERE gaps > 0 OR first <= coalesce(memory_fabric.lock(space), first)
                OR first > 1 AND NOT EXISTS (
                    SELECT FROM memory_fabric.operations o
                    WHERE o.space = added.space AND o.seq = first - 1))
        THEN
            RAISE EXCEPTION 'only memory_fabric.append adds operations'
                USING ERRCODE = 'insufficient_privilege';
        END IF;
        RETURN NULL;
    END IF;
    IF TG_OP <> 'UPDATE' THEN
        RAISE EXCEPTION 'operations are never deleted' USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF (NEW.op_id, NEW.space, NEW.origin, NEW.kind, NEW.made_at, NEW.author, NEW.seq, NEW.tx,
            NEW.key, NEW.base, NEW.stored_at)
        IS DISTINCT FROM
        (OLD.op_id, OLD.space, OLD.origin, OLD.kind, OLD.made_at, OLD.author, OLD.seq, OLD.tx,
            OLD.key, OLD.base, OLD.stored_at)
        OR (NEW.payload <> OLD.payload AND NEW.payload <> memory_fabric.blank(OLD.payload))
        OR (OLD.superseded AND NOT NEW.superseded)
    THEN
        RAISE EXCEPTION 'operations are never changed' USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NEW;
END
$$;

REVOKE ALL ON FUNCTION memory_fabric.keep FROM PUBLIC;

CREATE TRIGGER keep BEFORE UPDATE OR DELETE ON memory_fabric.operations
FOR EACH ROW EXECUTE FUNCTION memory_fabric.keep();
CREATE TRIGGER keep_order AFTER INSERT ON memory_fabric.operations
REFERENCING NEW TABLE AS inserted
FOR EACH STATEMENT EXECUTE FUNCTION memory_fabric.keep();
CREATE TRIGGER keep_all BEFORE TRUNCATE ON memory_fabric.operations
FOR EACH STATEMENT EXECUTE FUNCTION memory_fabric.keep();

DO $$
DECLARE
    guarded text;
BEGIN
    FOREACH guarded IN ARRAY ARRAY['spaces', 'members', 'seen', 'operations'] LOOP
        EXECUTE format('ALTER TABLE memory_fabric.%I'
            ' ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', guarded);
        EXECUTE format('DROP POLICY IF EXISTS inside ON memory_fabric.%I', guarded);
        EXECUTE format('CREATE POLICY inside ON memory_fabric.%I TO CURRENT_USER'
            ' USING (memory_fabric.inside())', guarded);
        EXECUTE format('DROP POLICY IF EXISTS members_read ON memory_fabric.%I', guarded);
        -- spaces_of_caller() reads `members`, as `inside`: the question must not come back here.
        EXECUTE format('CREATE POLICY members_read ON memory_fabric.%I FOR SELECT USING ('
            ' CASE WHEN memory_fabric.inside() THEN false'
            ' ELSE space = ANY (ARRAY(SELECT memory_fabric.spaces_of_caller())) END)', guarded);
    END LOOP;
END
$$;

-- What search and `serve --team` have on this table (steps 10 and 11). Members insert nothing
-- themselves any more: memory_fabric.append keeps to the domain of the caller.
DROP POLICY IF EXISTS domain_append ON memory_fabric.operations;
DROP POLICY IF EXISTS domain_read ON memory_fabric.operations;
CREATE POLICY domain_read ON memory_fabric.operations AS RESTRICTIVE FOR SELECT USING (
    (SELECT memory_fabric.domain_of_caller()) = '' OR (SELECT memory_fabric.inside())
    OR coalesce(payload #>> '{value,domain}', 'general')
        = (SELECT memory_fabric.domain_of_caller()));
CREATE INDEX IF NOT EXISTS operations_served ON memory_fabric.operations (space, author, stored_at)
    WHERE origin = 'serve-team';
CREATE OR REPLACE TRIGGER add_heads AFTER INSERT ON memory_fabric.operations
REFERENCING NEW TABLE AS inserted
FOR EACH STATEMENT EXECUTE FUNCTION memory_fabric.add_heads();
CREATE OR REPLACE TRIGGER drop_heads AFTER UPDATE ON memory_fabric.operations
REFERENCING NEW TABLE AS changed
FOR EACH STATEMENT EXECUTE FUNCTION memory_fabric.drop_heads();
