#pragma once

#include "adapters/cetp/label_table.hpp"
#include "adapters/cetp/provider_record.hpp"
#include "base/result.hpp"

#include <filesystem>
#include <map>
#include <string>

namespace crab::bridge {

/// The user's decisions about providers, and the labels assigned so far; a file of mode 0600,
/// separate from manifests. Source: docs/protocols/cetp.md, section 2.
struct UserChoices {
    /// By provider id; absent: not decided
    std::map<std::string, bool, std::less<>> enabled{};
    cetp::LabelTable::Entries labels{};

    bool allows(const cetp::ProviderRecord& provider) const;

    /// A missing file means no decisions. Errors: kInvalidArgs for an invalid file, kForbidden,
    /// kUnavailable.
    static Result<UserChoices> load(const std::filesystem::path& file);
    Result<void> save(const std::filesystem::path& file) const;
    friend bool operator==(const UserChoices&, const UserChoices&) = default;
};

}  // namespace crab::bridge
