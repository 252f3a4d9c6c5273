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
            const auto watched = state_->watchers.find(key->second);
            watched->second.erase(id_);
            if (watched->second.empty()) state_->watchers.erase(watched);
            state_->all.erase(key);
        }
    }
    state_->changes.notify();
}

ResourceWatches::Handle ResourceWatches::watch(std::string source, std::string uri,
                                               std::function<void()> updated) {
    std::uint64_t id = 0;
    {
        const std::scoped_lock lock(state_->mutex);
        id = ++state_->last;
        Key key{std::move(source), std::move(uri)};
        state_->watchers[key].emplace(id, std::move(updated));
        state_->all.emplace(id, std::move(key));
    }
    state_->changes.notify();
    return {state_, id};
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
    for (const auto& [id, updated] : watched->second) updated();
}

}  // namespace crab::mcp
