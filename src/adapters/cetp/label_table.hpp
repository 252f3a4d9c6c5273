#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace crab::cetp {

/// The labels of providers. A label stays with its provider across scans, and across restarts if
/// entries() are stored. Source: docs/protocols/cetp.md, rule 34.
class LabelTable {
public:
    using Entries = std::map<std::string, std::string, std::less<>>;  ///< provider id → label

    LabelTable() = default;
    /// Restores stored entries; one whose label is already taken is dropped.
    explicit LabelTable(const Entries& kept) : LabelTable(kept, {}) {}
    /// Labels in `fixed` are reserved and not among entries() (section 5).
    LabelTable(const Entries& kept, Entries fixed);

    /// The label of this provider; a new one is made from `suggested`, or from the id when that is
    /// empty, with `_2`, `_3` and so on when it is taken. Call it for new providers in the order of
    /// their ids.
    const std::string& label_for(const std::string& provider_id, std::string_view suggested);
    /// The label that this provider has; empty when it has none yet.
    std::string find(std::string_view provider_id) const;
    const Entries& entries() const { return entries_; }

private:
    Entries fixed_;
    Entries entries_;
    std::set<std::string, std::less<>> taken_;
};

}  // namespace crab::cetp
