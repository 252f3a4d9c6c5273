#pragma once

#include <cstdio>
#include <cstdlib>
#include <source_location>

namespace crab {

/// Aborts a fuzz target unless `holds`.
inline void require(bool holds,
                    const std::source_location& where = std::source_location::current()) {
    if (holds) return;
    std::fprintf(stderr, "broken: %s:%u\n", where.file_name(), static_cast<unsigned>(where.line()));
    std::abort();
}
/// The same, with a sentence about the rule.
inline void require(bool holds, const char* rule) {
    if (holds) return;
    std::fprintf(stderr, "broken: %s\n", rule);
    std::abort();
}

}  // namespace crab
