#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <map>
#include <string>

namespace crab::fleet {

/// How often each kind of what the nodes of a fleet share has changed, in its database. May block.
/// Thread-safe. Errors: kUnavailable while the database is away.
class ChangeTable {
public:
    using Numbers = std::map<std::string, std::int64_t, std::less<>>;
    virtual ~ChangeTable() = default;
    /// Whoever has read a number reads all that it counts.
    virtual Result<Numbers> read() = 0;
};

}  // namespace crab::fleet
