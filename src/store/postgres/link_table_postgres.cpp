#include "store/postgres/link_table_postgres.hpp"

#include <map>
#include <span>

namespace crab::store::postgres {
namespace {

using fleet::Link;
using fleet::NodeName;

std::span<const std::uint8_t> bytes_of(const std::string& text) {
    return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

Array numbers_of(const std::vector<std::uint64_t>& connections) {
    Array numbers;
    for (const std::uint64_t one : connections) numbers.add_number(static_cast<std::int64_t>(one));
    return numbers;
}

}  // namespace

Result<std::vector<std::uint64_t>> LinkTablePostgres::claim(
    NodeName self, const std::vector<Link>& changed, const std::vector<std::uint64_t>& kept) {
    Array all = numbers_of(kept);
    Array connections, epochs, sources, tools;
    for (const Link& link : changed) {
        all.add_number(static_cast<std::int64_t>(link.connection));
        connections.add_number(static_cast<std::int64_t>(link.connection));
        epochs.add_number(static_cast<std::int64_t>(link.epoch));
        sources.add(link.source);
        tools.add_bytes(bytes_of(link.tools));
    }
    std::map<std::int64_t, std::uint64_t> given;
    const std::scoped_lock lock(mutex_);
    const auto done = database_.transaction([&]() -> Result<void> {
        auto mine = database_.query(
            "UPDATE node SET links = links + 1 WHERE number = $1 AND incarnation = $2 AND state "
            "IN ('live', 'draining')",
            self.number, self.incarnation);
        if (!mine) return fail(std::move(mine.error()));
        if (mine->changed() != 1)
            return fail(ErrorCode::kConflict, "this incarnation of the node was fenced off");
        auto gone = database_.run(
            "DELETE FROM link WHERE node = $1 AND NOT connection = ANY ($2::bigint[])", self.number,
            all);
        if (!gone) return gone;
        // The table may have been emptied: it does not survive a crash of the database.
        auto there = database_.query(
            "SELECT count(*) FROM link WHERE node = $1 AND incarnation = $2 AND connection = ANY "
            "($3::bigint[])",
            self.number, self.incarnation, numbers_of(kept));
        if (!there) return fail(std::move(there.error()));
        if (static_cast<std::size_t>((*there)[0].integer(0)) != kept.size())
            return fail(ErrorCode::kNotFound, "a link that was claimed is not there");
        auto rows = database_.query(
            R"(INSERT INTO link (node, incarnation, connection, epoch, source, tools)
            SELECT $1, $2, c, CASE WHEN e = 0 THEN nextval('link_epoch') ELSE e END, s, t
            FROM unnest($3::bigint[], $4::bigint[], $5::text[], $6::bytea[]) u(c, e, s, t)
            ON CONFLICT (node, connection) DO UPDATE SET incarnation = excluded.incarnation,
                epoch = excluded.epoch, source = excluded.source, tools = excluded.tools
            RETURNING connection, epoch)",
            self.number, self.incarnation, connections, epochs, sources, tools);
        if (!rows) return fail(std::move(rows.error()));
        for (const auto row : *rows)
            given[row.integer(0)] = static_cast<std::uint64_t>(row.integer(1));
        return {};
    });
    if (!done) return fail(done.error());
    std::vector<std::uint64_t> in_order;
    for (const Link& link : changed)
        in_order.push_back(given[static_cast<std::int64_t>(link.connection)]);
    return in_order;
}

Result<std::string> LinkTablePostgres::version() {
    const std::scoped_lock lock(mutex_);
    auto rows = database_.query(
        "SELECT coalesce(string_agg(number || ':' || incarnation || ':' || links, ',' ORDER BY "
        "number), '') FROM node WHERE state IN ('live', 'draining')");
    if (!rows) return fail(std::move(rows.error()));
    return (*rows)[0].text(0);
}

Result<std::vector<Link>> LinkTablePostgres::read(std::uint16_t but_of) {
    const std::scoped_lock lock(mutex_);
    auto rows = database_.query(
        "SELECT l.node, n.boot, l.connection, l.epoch, l.source, l.tools FROM link l JOIN node n "
        "ON n.number = l.node AND n.incarnation = l.incarnation WHERE n.state IN ('live', "
        "'draining') AND l.node <> $1 ORDER BY l.epoch",
        but_of);
    if (!rows) return fail(std::move(rows.error()));
    std::vector<Link> links;
    for (const auto row : *rows)
        links.push_back({.process = {.node = static_cast<std::uint16_t>(row.integer(0)),
                                     .boot = static_cast<std::uint32_t>(row.integer(1))},
                         .connection = static_cast<std::uint64_t>(row.integer(2)),
                         .epoch = static_cast<std::uint64_t>(row.integer(3)),
                         .source = row.text(4),
                         .tools = row.bytes(5)});
    return links;
}

}  // namespace crab::store::postgres
