#include "adapters/mcp/wire/catalogs.hpp"

#include <algorithm>

namespace crab::mcp {

void Catalogs::set(const std::string& source, std::shared_ptr<const Catalog> catalog) {
    {
        const std::scoped_lock lock(writing_);
        auto next = std::make_shared<All>(*all_.get());
        (*next)[source] = std::move(catalog);
        all_.set(std::move(next));
    }
    changes_.notify();
}

void Catalogs::drop(std::string_view source) {
    {
        const std::scoped_lock lock(writing_);
        auto next = std::make_shared<All>(*all_.get());
        const auto found = next->find(source);
        if (found == next->end()) return;
        next->erase(found);
        all_.set(std::move(next));
    }
    changes_.notify();
}

ResourceWatches::Handle::~Handle() {
    if (!state_) return;
    {
        const std::scoped_lock lock(state_->mutex);
        if (const auto key = state_->all.find(id_); key != state_->all.end()) {
            const auto& [source, uri] = key->second;
            const auto watched = state_->watchers.find(key->second);
            const auto its =
                state_->of_principals.find(Key{source, watched->second.at(id_).principal});
            if (--its->second[uri] == 0) its->second.erase(uri);
            if (its->second.empty()) state_->of_principals.erase(its);
            watched->second.erase(id_);
            if (watched->second.empty()) {
                state_->watchers.erase(watched);
                const auto uris = state_->uris.find(source);
                if (--uris->second == 0) state_->uris.erase(uris);
            }
            state_->all.erase(key);
        }
    }
    state_->changes.notify();
}

bool ResourceWatches::State::has_room(const Key& key, const std::string& principal) const {
    if (watchers.contains(key)) return true;  // the upstream is asked for it already
    const auto used = uris.find(key.first);
    const std::size_t free = kMostOfSource - (used == uris.end() ? 0 : used->second);
    const auto own = of_principals.find(Key{key.first, principal});
    return free > kKeptFree ||
           (free > 0 && (own == of_principals.end() || own->second.size() < kFew));
}

std::optional<ResourceWatches::Handle> ResourceWatches::watch(std::string source, std::string uri,
                                                              std::string principal,
                                                              std::function<void()> updated) {
    std::uint64_t id = 0;
    {
        const std::scoped_lock lock(state_->mutex);
        Key key{std::move(source), std::move(uri)};
        if (!state_->has_room(key, principal)) return std::nullopt;
        id = ++state_->last;
        auto& watchers = state_->watchers[key];
        if (watchers.empty()) ++state_->uris[key.first];
        ++state_->of_principals[Key{key.first, principal}][key.second];
        watchers.emplace(id, Watcher{std::move(principal), std::move(updated)});
        state_->all.emplace(id, std::move(key));
    }
    state_->changes.notify();
    return Handle(state_, id);
}

std::vector<std::string> ResourceWatches::wanted(std::string_view source) const {
    std::vector<std::pair<std::uint64_t, std::string>> watched;
    {
        const std::scoped_lock lock(state_->mutex);
        const Key first{std::string(source), {}};
        for (auto each = state_->watchers.lower_bound(first);
             each != state_->watchers.end() && each->first.first == source; ++each)
            watched.emplace_back(each->second.begin()->first, each->first.second);
    }
    std::ranges::sort(watched);
    std::vector<std::string> uris;
    for (auto& [id, uri] : watched) uris.push_back(std::move(uri));
    return uris;
}

void ResourceWatches::updated(std::string_view source, std::string_view uri) {
    const std::scoped_lock lock(state_->mutex);
    const auto watched = state_->watchers.find(Key{std::string(source), std::string(uri)});
    if (watched == state_->watchers.end()) return;
    for (const auto& [id, watcher] : watched->second) watcher.updated();
}

}  // namespace crab::mcp
