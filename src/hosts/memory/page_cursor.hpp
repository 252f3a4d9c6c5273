#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "hosts/memory/memory_store.hpp"

#include <string>
#include <string_view>

namespace crab::memory {

inline constexpr std::chrono::hours kCursorLife{1};

/// The `next_cursor` of memory.query: where the page ended, when, and a digest of query and scope.
/// Not a secret: the scope always comes from the call, so a forged cursor only reaches other pages
/// of the caller's own entries.
std::string to_cursor(std::string_view next, const MemoryScope& scope, const MemoryQuery& query,
                      SystemTime now);

/// MemoryPage::next inside `cursor`. Errors: kInvalidArgs when it is malformed, older than an hour,
/// or of another query or scope; the limit may differ.
Result<std::string> read_cursor(std::string_view cursor, const MemoryScope& scope,
                                const MemoryQuery& query, SystemTime now);

}  // namespace crab::memory
