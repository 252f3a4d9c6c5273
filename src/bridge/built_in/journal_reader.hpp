#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "json/value.hpp"

#include <cstddef>
#include <optional>
#include <string>

namespace crab::bridge {

/// A query for journal entries, newest first.
struct JournalQuery {
    std::string unit{};      ///< empty: all
    int priority = 7;        ///< at most this: 0 emergency, 3 error, 7 debug
    std::string contains{};  ///< substring of the message, case-sensitive; empty: any
    SystemTime since{};
    std::size_t limit = 50;
    SteadyTime give_up{};    ///< returns what was found by then
};

/// `{"entries":[{"time","unit","priority","message"}],"complete"}`, what this user may read of it;
/// `complete` is false when time or room (256 KiB of messages) ran out. `folder`: a folder of
/// journal files instead of the machine's journal. Blocks. Errors: kUnavailable when there is no
/// journal.
Result<json::Value> read_journal(const JournalQuery& query,
                                 const std::optional<std::string>& folder);
/// Whether there is a journal. Blocks. Errors: kUnavailable.
Result<void> find_journal(const std::optional<std::string>& folder);

}  // namespace crab::bridge
