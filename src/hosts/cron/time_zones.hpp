#pragma once

#include "hosts/cron/time_zone.hpp"

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace crab::cron {

/// The time zones of this machine by their IANA names; each file is read once. Thread-safe; find()
/// may block on a file.
class TimeZones {
public:
    explicit TimeZones(std::filesystem::path folder = "/usr/share/zoneinfo")
        : folder_(std::move(folder)) {}

    /// `UTC` and `Etc/UTC` are always there. Errors: kInvalidArgs for a name that is none;
    /// kUnavailable when the machine has no time zone data (package tzdata) or it cannot be read.
    Result<std::shared_ptr<const TimeZone>> find(std::string_view name);

private:
    Result<std::shared_ptr<const TimeZone>> read(std::string_view name) const;

    const std::filesystem::path folder_;
    std::mutex mutex_;
    /// As many as there are files
    std::map<std::string, std::shared_ptr<const TimeZone>, std::less<>> known_;
};

}  // namespace crab::cron
