#pragma once

#include "base/ordered_mutex.hpp"
#include "base/result.hpp"
#include "hosts/cron/time_zone.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

namespace crab::cron {

/// The time zones of this machine by their IANA names; each file is read once. Thread-safe; find()
/// may block on a file.
class TimeZones {
public:
    explicit TimeZones(std::filesystem::path folder = "/usr/share/zoneinfo")
        : folder_(std::move(folder)) {}

    /// `UTC` and `Etc/UTC` are always available. Errors: kInvalidArgs for an unknown name;
    /// kUnavailable when the machine has no time zone data (package tzdata) or it cannot be read.
    Result<TimeZone> find(std::string_view name);

private:
    Result<TimeZone> read(std::string_view name) const;

    const std::filesystem::path folder_;
    OrderedMutex<LockRank::kTimeZones> mutex_;
    std::map<std::string, TimeZone, std::less<>> known_;  ///< as many as there are files
};

}  // namespace crab::cron
