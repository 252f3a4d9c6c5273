#include "hosts/cron/time_zones.hpp"

#include <algorithm>
#include <fstream>
#include <system_error>

#include <fmt/format.h>

namespace crab::cron {
namespace {

/// `Area/Place`: what IANA names look like, so that no name leads out of the folder. All of them
/// begin with a capital letter, unlike what else lies there (`posixrules`, `right/`, `zone.tab`).
bool is_zone_name(std::string_view name) {
    const auto is_letter_or_digit = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    };
    if (name.empty() || name.size() > 64 || name.front() < 'A' || name.front() > 'Z' ||
        name.back() == '/' || name.find("//") != std::string_view::npos)
        return false;
    return std::ranges::all_of(name, [&](char c) {
        return is_letter_or_digit(c) || c == '/' || c == '_' || c == '-' || c == '+';
    });
}

std::unexpected<Error> unknown(std::string_view name) {
    return fail(
        ErrorCode::kInvalidArgs,
        fmt::format("timezone: `{}` is unknown; use an IANA name such as Europe/Berlin", name));
}

}  // namespace

Result<TimeZone> TimeZones::find(std::string_view name) {
    if (!is_zone_name(name)) return unknown("this name");
    if (name == "UTC" || name == "Etc/UTC") return TimeZone();
    const std::scoped_lock lock(mutex_);
    if (const auto known = known_.find(name); known != known_.end()) return known->second;
    auto zone = read(name);
    if (zone) known_.emplace(name, *zone);
    return zone;
}

Result<TimeZone> TimeZones::read(std::string_view name) const {
    std::error_code problem;
    if (!std::filesystem::is_directory(folder_, problem)) {
        return fail(
            ErrorCode::kUnavailable,
            "timezone: this machine has no time zone data; install the package tzdata or use UTC");
    }
    const std::filesystem::path path = folder_ / name;
    if (!std::filesystem::is_regular_file(path, problem)) return unknown(name);
    // cctz remembers a failure for good, so it is not asked about a file that cannot be opened now.
    if (!std::ifstream(path, std::ios::binary)) {
        return fail(ErrorCode::kUnavailable,
                    fmt::format("timezone: the data of `{}` cannot be read now; try again", name));
    }
    cctz::time_zone zone;
    if (!cctz::load_time_zone(path.string(), &zone)) return unknown(name);
    return TimeZone(zone);
}

}  // namespace crab::cron
