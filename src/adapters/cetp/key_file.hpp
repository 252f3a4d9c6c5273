#pragma once

#include "base/result.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace crab::cetp {

/// A file of `[Group]` and `Key=Value` lines, as desktop entries are (freedesktop.org, Desktop
/// Entry Specification, section 3).
class KeyFile {
public:
    static constexpr std::size_t kMaxBytes = std::size_t{64} << 10;

    /// Errors: kInvalidArgs naming the line; kOversize above kMaxBytes; kInvalidArgs for what is
    /// not UTF-8.
    static Result<KeyFile> parse(std::string_view text);

    bool has_group(std::string_view group) const { return groups_.contains(group); }
    /// Nothing when absent. Of two keys of one name the last counts.
    std::optional<std::string> get(std::string_view group, std::string_view key) const;
    /// The value for a locale such as `de_AT`: `Key[de_AT]`, `Key[de]`, then `Key`.
    std::optional<std::string> get_localized(std::string_view group, std::string_view key,
                                             std::string_view locale) const;
    /// `true` or `false`; absent is false. Errors: kInvalidArgs for anything else.
    Result<bool> flag(std::string_view group, std::string_view key) const;

private:
    using Entries = std::map<std::string, std::string, std::less<>>;
    std::map<std::string, Entries, std::less<>> groups_;
};

}  // namespace crab::cetp
