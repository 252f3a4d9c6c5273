#include "store/postgres/node_keys.hpp"

#include "store/postgres/node_claim.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace crab::store::postgres {
namespace {

std::vector<std::string> split(std::string_view text) {
    std::vector<std::string> parts;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(','), text.size());
        parts.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return parts;
}

bool accepts(std::span<const std::string> keys, const std::string& signing) {
    return std::ranges::find(keys, signing) != keys.end();
}

/// The session of a process that runs holds the lock of its name.
Result<bool> runs(Connection& database, std::string_view name) {
    auto free =
        database.query("SELECT pg_try_advisory_xact_lock($1, hashtext($2))", kNodeLock, name);
    if (!free) return fail(std::move(free.error()));
    return !(*free)[0].boolean(0);
}

}  // namespace

// The table is locked: of two that come at once the second sees the first. Renewals wait for it, so
// one that stops in the middle must not hold it.
Result<void> agree_on_keys(Connection& database, std::int16_t self,
                           std::span<const std::string> names) {
    return database.transaction([&]() -> Result<void> {
        if (auto locked = database.execute("SET LOCAL idle_in_transaction_session_timeout = '2s'; "
                                           "LOCK TABLE node IN SHARE ROW EXCLUSIVE MODE");
            !locked)
            return locked;
        auto others = database.query(
            "SELECT name, keys FROM node WHERE number <> $1 AND state IN ('live', 'draining') AND "
            "keys <> ''",
            self);
        if (!others) return fail(std::move(others.error()));
        for (const auto row : *others) {
            const std::vector<std::string> theirs = split(row.text_view(1));
            if (accepts(names, theirs.front()) && accepts(theirs, names.front())) continue;
            const auto running = runs(database, row.text_view(0));
            if (!running) return fail(running.error());
            if (*running)
                return fail(
                    ErrorCode::kConflict,
                    fmt::format("fleet.key_file: the node {} of this fleet has another key: "
                                "give all nodes the same file",
                                row.text_view(0)));
        }
        return database.run("UPDATE node SET keys = $1 WHERE number = $2",
                            fmt::format("{}", fmt::join(names, ",")), self);
    });
}

}  // namespace crab::store::postgres
