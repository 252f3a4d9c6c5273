#include "store/postgres/ledger_statements.hpp"

#include "store/postgres/stored_outcome.hpp"

#include <fmt/format.h>

namespace crab::store::postgres::ledger_sql {
namespace {

/// A parameter in milliseconds as a time, and a time as milliseconds: both exact.
std::string time_of(std::string_view value) {
    return fmt::format("(timestamptz 'epoch' + {} * interval '1 millisecond')", value);
}
std::string ms_of(std::string_view value) {
    return fmt::format("(extract(epoch FROM {}) * 1000)::bigint", value);
}

}  // namespace

// Both inserts see the fence in the same snapshot. Keys are sorted, so that batches that cross wait
// for each other and do not deadlock.
const std::string kAdmit = fmt::format(
    R"(WITH me AS (SELECT 1 FROM node WHERE number = $13 AND incarnation = $14
                AND state IN ('live', 'draining')),
    x AS (SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::bytea[], $4::bool[], $5::text[],
                $6::text[], $7::text[], $8::text[], $9::text[], $10::bool[], $11::bigint[],
                $12::bigint[])
            WITH ORDINALITY u(key, ref, content, again, record, event, addressee, tool, source,
                effects, at, instance, n)),
    i AS (INSERT INTO call (key, ref, content, node, incarnation, may_run_again, tool, source,
                side_effects, admitted, instance)
            SELECT key, ref, content, $13, $14, again, tool, source, effects, {0},
                nullif(instance, 0) FROM x, me
            ORDER BY key ON CONFLICT (key) DO NOTHING RETURNING key, ref),
    d AS (INSERT INTO call_debt (ref, node, incarnation, record, event, addressee, at)
            SELECT x.ref, $13, $14, nullif(record, ''), nullif(event, ''), nullif(addressee, ''),
                {0} FROM x JOIN i USING (key, ref))
    SELECT i.ref IS NOT NULL, EXISTS (SELECT FROM me) FROM x LEFT JOIN i USING (key, ref)
        ORDER BY n)",
    time_of("at"));

const std::string kEnd = fmt::format(
    R"(WITH me AS (SELECT 1 FROM node WHERE number = $13 AND incarnation = $14
                AND state IN ('live', 'draining')),
    written AS (INSERT INTO call_end (ref, ended, duration_us, {})
        SELECT ref, now(), duration, code, kind, first, second, logs, retryable, retry_after,
            ARRAY[cpu, wall, memory]
        FROM unnest($1::uuid[], $2::bigint[], $3::text[], $4::smallint[], $5::bytea[], $6::bytea[],
            $7::text[], $8::bool[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[])
            u(ref, duration, code, kind, first, second, logs, retryable, retry_after, cpu, wall,
                memory), me
        ORDER BY ref ON CONFLICT (ref) DO NOTHING RETURNING ref)
    SELECT ref FROM written UNION ALL SELECT NULL WHERE NOT EXISTS (SELECT FROM me))",
    kOutcomeColumns);

const std::string kDecided = "SELECT ref, kind FROM call_end WHERE ref = ANY ($1::uuid[])";

const std::string kHasEnd =
    "SELECT e.ref FROM call_end e JOIN unnest($1::uuid[], $2::text[], $3::smallint[], $4::bytea[], "
    "$5::bytea[]) u(ref, code, kind, first, second) ON e.ref = u.ref WHERE e.kind = u.kind AND "
    "e.code IS NOT DISTINCT FROM u.code AND e.first = u.first AND e.second = u.second";

const std::string kRead = fmt::format(
    R"(SELECT c.key, c.ref, c.content, c.may_run_again, c.tool, c.source, c.side_effects, {},
        c.node, c.incarnation, e.kind, e.duration_us, coalesce(c.instance, 0), {}
    FROM call c LEFT JOIN call_end e ON e.ref = c.ref WHERE c.key = ANY ($1::uuid[]))",
    ms_of("c.admitted"), kSelectOutcome);

const std::string kLock = "SELECT ref, node, incarnation FROM call WHERE key = $1::uuid FOR UPDATE";

const std::string kDecide = fmt::format(
    "INSERT INTO call_end (ref, ended, duration_us, {}) VALUES ($1::uuid, now(), 0, NULL, "
    "$2::smallint, '', '', '', NULL, NULL, '{{0,0,0}}') ON CONFLICT (ref) DO NOTHING RETURNING "
    "ref",
    kOutcomeColumns);

// Whoever changes a row holds it, so the condition is looked at again when the lock is there.
const std::string kRelease = fmt::format(
    R"(WITH mine AS MATERIALIZED (SELECT c.ref FROM call c
        JOIN unnest($1::uuid[], $2::uuid[], $5::bool[]) u(key, ref, own)
            ON c.key = u.key AND c.ref = u.ref
        WHERE c.node = $3 AND c.incarnation = $4 AND (u.own OR c.may_run_again)
        ORDER BY c.key FOR UPDATE OF c)
    INSERT INTO call_end (ref, ended, duration_us, {})
        SELECT ref, now(), 0, NULL, {}, '', '', '', NULL, NULL, '{{0,0,0}}' FROM mine
        ORDER BY ref ON CONFLICT (ref) DO NOTHING)",
    kOutcomeColumns, kReleased);

const std::string kTakeOver = fmt::format(
    "UPDATE call SET ref = $2::uuid, content = $3::bytea, may_run_again = $4::bool, tool = $5, "
    "source = $6, side_effects = $7::bool, admitted = {}, node = $9, incarnation = $10, "
    "instance = nullif($11::bigint, 0) "
    "WHERE key = $1::uuid AND EXISTS (SELECT FROM node WHERE number = $9 AND incarnation = $10 "
    "AND state IN ('live', 'draining'))",
    time_of("$8::bigint"));

const std::string kAdopt =
    "UPDATE call SET node = $3, incarnation = $4 WHERE key = $1::uuid AND ref = $2::uuid AND "
    "EXISTS (SELECT FROM node WHERE number = $3 AND incarnation = $4 AND state IN ('live', "
    "'draining'))";

const std::string kOwe = fmt::format(
    "INSERT INTO call_debt (ref, node, incarnation, record, event, addressee, at) VALUES "
    "($1::uuid, $2, $3, nullif($4, ''), nullif($5, ''), nullif($6, ''), {})",
    time_of("$7::bigint"));

// By ref among those of one time: a process counts them.
const std::string kUnfinished = fmt::format(
    R"(WITH owed AS (SELECT * FROM call_debt WHERE node = $1 AND incarnation < $2),
    open AS (SELECT d.* FROM owed d WHERE NOT EXISTS (SELECT FROM call_end e WHERE e.ref = d.ref)),
    late AS (SELECT d.* FROM owed d JOIN call_end e ON e.ref = d.ref WHERE e.kind < {}
        AND d.at >= (SELECT max(at) FROM owed) - $3::bigint * interval '1 millisecond'
        ORDER BY d.at DESC, d.ref DESC LIMIT $4::bigint)
    SELECT coalesce(d.record, ''), coalesce(d.event, ''), coalesce(d.addressee, ''), {}, e.ref,
        e.duration_us, {}
    FROM (SELECT * FROM open UNION ALL SELECT * FROM late) d LEFT JOIN call_end e ON e.ref = d.ref
    ORDER BY d.at, d.ref)",
    kReleased, ms_of("d.at"), kSelectOutcome);

// A row and its end together: an end alone would make its call look open.
const std::string kForget = fmt::format(
    R"(WITH old AS (SELECT key, ref, admitted FROM call WHERE admitted < {} LIMIT $2::bigint
        FOR UPDATE SKIP LOCKED),
    gone AS (DELETE FROM call USING old WHERE call.key = old.key AND call.ref = old.ref
        RETURNING call.ref, old.admitted),
    ends AS (DELETE FROM call_end USING gone WHERE call_end.ref = gone.ref),
    debts AS (DELETE FROM call_debt USING gone
        WHERE call_debt.at = gone.admitted AND call_debt.ref = gone.ref)
    SELECT count(*) FROM gone)",
    time_of("$1::bigint"));

const std::string kBarrier = "SELECT pg_logical_emit_message(true, 'crab', '')";

}  // namespace crab::store::postgres::ledger_sql
