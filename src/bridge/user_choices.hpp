#pragma once

#include "adapters/cetp/label_book.hpp"
#include "adapters/cetp/provider_record.hpp"
#include "base/result.hpp"

#include <filesystem>
#include <map>
#include <string>

namespace crab::bridge {

/// What the user decided about providers, and the labels they once got; a file of mode 0600 that no
/// manifest can write. Source: docs/protocols/cetp.md, section 2.
struct UserChoices {
    /// By provider id, where the user said yes or no
    std::map<std::string, bool, std::less<>> enabled{};
    cetp::LabelBook::Entries labels{};

    bool allows(const cetp::ProviderRecord& provider) const;

    /// Nobody has decided anything when the file is missing. Errors: kInvalidArgs for a file that
    /// is none, kForbidden, kUnavailable.
    static Result<UserChoices> load(const std::filesystem::path& file);
    Result<void> save(const std::filesystem::path& file) const;
    friend bool operator==(const UserChoices&, const UserChoices&) = default;
};

}  // namespace crab::bridge
