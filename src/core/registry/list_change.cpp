#include "core/registry/registry.hpp"

#include <memory>
#include <string_view>
#include <unordered_set>
#include <utility>

/// What a snapshot knows of the changes before it, so that lists need not be made anew.
namespace crab::core {

void RegistrySnapshot::note_changed(std::string_view key) {
    if (!changing_) {
        changing_ = std::make_shared<Change>(Change{.number = ++number_, .keys = {}});
        if (changes_.size() == kKeptChanges) {
            known_since_ = changes_.front()->number;
            changes_.erase(changes_.begin());
        }
        changes_.push_back(changing_);
    }
    if (known_since_ == number_) return;
    changing_->keys.emplace_back(key);
    if (changing_->keys.size() <= kMostChangedNames) return;
    known_since_ = number_;
    changes_.clear();
}

/// Adds the names under which the tools may be listed that have this one, as plain or as unique
/// name, and those whose names are like theirs; false when there are too many. What is listed under
/// a name depends on these alone.
bool RegistrySnapshot::add_names_like(Names& names, std::string_view key) const {
    const auto add_plain = [&](std::string_view plain, const Name* found) {
        names.emplace(plain);
        if (found == nullptr) return;
        found->entry->plain_of.for_each_after({}, [&](std::string_view unique) {
            names.emplace(unique);
            return names.size() <= kMostChangedNames;
        });
    };
    const Name* const found = entries_.find(key);
    add_plain(key, found);
    if (found == nullptr) return names.size() <= kMostChangedNames;
    for (const ToolRef& tool : found->entry->own) {
        if (names.size() > kMostChangedNames) return false;
        if (tool->has_plain_name()) add_plain(tool->spec.name, entries_.find(tool->spec.name));
    }
    return names.size() <= kMostChangedNames;
}

std::optional<RegistrySnapshot::ListChange> RegistrySnapshot::list_change(
    const View& view, std::uint64_t since) const {
    if (since < known_since_ || since > number_) return std::nullopt;
    ListChange change;
    std::unordered_set<std::string_view> keys, plain_names;  // what is looked at, once each
    for (const auto& each : changes_) {
        if (each->number <= since) continue;
        for (const std::string& key : each->keys)
            if (keys.insert(key).second && !add_names_like(change.names, key)) return std::nullopt;
    }
    Names beside;
    const auto list_into = [&](std::vector<Listed>& list, const std::string& name) {
        const Name* const found = entries_.find(name);
        ToolRef tool = found != nullptr ? listed_as(view, name, *found) : nullptr;
        if (tool) list.push_back({name, std::move(tool)});
    };
    for (const std::string& name : change.names) list_into(change.now, name);
    for (const auto& [name, tool] : change.now) {
        const std::string& plain = tool->spec.name;
        if (tool->has_plain_name() && plain != name && plain_names.insert(plain).second &&
            !add_names_like(beside, plain))
            return std::nullopt;
    }
    for (const std::string& name : beside)
        if (!change.names.contains(name)) list_into(change.beside, name);
    return change;
}

}  // namespace crab::core
