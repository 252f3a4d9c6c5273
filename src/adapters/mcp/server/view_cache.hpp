#pragma once

#include "core/call/principal.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

namespace crab::mcp {

/// What decides what a principal sees, whatever is looked at. Two principals with one key have one
/// view: of requests without a token each has a Principal of its own.
inline std::string view_key(const core::Principal& principal) {
    std::string key = principal.id;
    const auto add = [&key](const std::string& text) {
        key += '\0';  // no name has it
        key += text;
    };
    add(principal.tenant.text());
    add(principal.roles.to_text());
    add(std::to_string(static_cast<int>(principal.proof)));
    add(principal.device);
    add(principal.credential_id);
    for (const TenantId& tenant : principal.more_tenants) add(tenant.text());
    return key;
}

/// The views by keys that say who has them, each with what it was made of (`version`). Of too many,
/// counted in views and in what is in them, the one goes that was not used for longest. One per
/// event loop.
template <class View>
class ViewCache {
public:
    struct Known {
        std::uint64_t version = 0;
        std::shared_ptr<const View> view;
    };
    struct Limits {
        std::size_t views = 1024;
        std::size_t items = std::size_t{1} << 20;  ///< of all of them
    };

    ViewCache() : ViewCache(Limits()) {}
    explicit ViewCache(const Limits& limits) : limits_(limits) {}

    /// What was given last, if that was for this Principal at this version; else null. A request
    /// asks several times.
    std::shared_ptr<const View> last(const core::Principal& of, std::uint64_t version) const {
        const bool is_it = last_.of.get() == &of && last_.known.version == version;
        return is_it ? last_.known.view : nullptr;
    }
    std::shared_ptr<const View> give(const core::PrincipalRef& to, Known known) {
        last_ = {.of = to, .known = std::move(known)};
        return last_.known.view;
    }
    /// Null when there is none. Valid until keep().
    const Known* find(const std::string& key) {
        const auto found = by_key_.find(key);
        if (found == by_key_.end()) return nullptr;
        used_.splice(used_.end(), used_, found->second);
        return &used_.back().known;
    }
    /// Gives it away; null when there is none.
    std::shared_ptr<const View> take(const std::string& key) {
        const auto found = by_key_.find(key);
        if (found == by_key_.end()) return nullptr;
        const auto use = found->second;
        auto view = std::move(use->known.view);
        items_ -= use->items;
        by_key_.erase(found);
        used_.erase(use);
        return view;
    }
    /// `items`: how much is in the view.
    void keep(const std::string& key, Known known, std::size_t items) {
        if (find(key) == nullptr) {
            used_.push_back({.key = key});
            by_key_.emplace(key, std::prev(used_.end()));
        }
        items_ += items - used_.back().items;
        used_.back().items = items;
        used_.back().known = std::move(known);
        while (used_.size() > 1 && (used_.size() > limits_.views || items_ > limits_.items)) {
            items_ -= used_.front().items;
            by_key_.erase(used_.front().key);
            used_.pop_front();
        }
    }
    /// Drops views that hold what is gone: `is_stale` is asked of each once for a version.
    template <class IsStale>
    void begin(std::uint64_t version, IsStale is_stale) {
        if (std::exchange(version_, version) == version) return;
        last_ = {};
        std::erase_if(used_, [&](const Use& use) {
            if (!is_stale(*use.known.view)) return false;
            items_ -= use.items;
            by_key_.erase(use.key);
            return true;
        });
    }
    std::size_t size() const { return used_.size(); }

private:
    struct Use {
        std::string key;
        Known known{};
        std::size_t items = 0;
    };
    using Uses = std::list<Use>;  ///< not used for longest first
    struct Last {
        core::PrincipalRef of{};  ///< kept, so that no other one has its address
        Known known{};
    };

    const Limits limits_;
    Last last_;
    Uses used_;
    std::unordered_map<std::string, typename Uses::iterator> by_key_;
    std::size_t items_ = 0;
    std::uint64_t version_ = 0;
};

}  // namespace crab::mcp
