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
        state_->all.erase(id_);
    }
    state_->changes.notify();
}

ResourceWatches::Handle ResourceWatches::watch(std::string source, std::string uri,
                                               std::function<void()> updated) {
    std::uint64_t id = 0;
    {
        const std::scoped_lock lock(state_->mutex);
        id = ++state_->last;
        state_->all.emplace(id, Watcher{std::move(source), std::move(uri), std::move(updated)});
    }
    state_->changes.notify();
    return {state_, id};
}

std::vector<std::string> ResourceWatches::wanted(std::string_view source) const {
    std::vector<std::string> uris;
    {
        const std::scoped_lock lock(state_->mutex);
        for (const auto& [id, watcher] : state_->all)
            if (watcher.source == source) uris.push_back(watcher.uri);
    }
    std::ranges::sort(uris);
    const auto same = std::ranges::unique(uris);
    uris.erase(same.begin(), same.end());
    return uris;
}

void ResourceWatches::updated(std::string_view source, std::string_view uri) {
    const std::scoped_lock lock(state_->mutex);
    for (const auto& [id, watcher] : state_->all)
        if (watcher.source == source && watcher.uri == uri) watcher.updated();
}

}  // namespace crab::mcp
