#pragma once

#include "base/change_signal.hpp"
#include "base/id.hpp"
#include "base/ordered_mutex.hpp"
#include "base/published.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Resources and prompts of upstreams, on their way from the client's side to the server's.
/// Source: docs/protocols/mcp.md, sections 4.5 and 7.5.
namespace crab::mcp {

/// What an upstream lists beside its tools. Immutable once it is published. Reading, getting and
/// completing are calls of the unlisted tools below, under the upstream's name.
struct Catalog {
    struct Entry {
        std::string key;  ///< a resource's URI, a template's, a prompt's own name
        std::string json;  ///< the object as the upstream described it, its texts cleaned
    };
    std::string source;  ///< key of the configuration: `ToolSource::name` of its tools
    TenantId tenant;  ///< empty: every tenant sees it
    std::vector<Entry> resources, templates, prompts;
    bool completions = false;  ///< the upstream answers `completion/complete`
    bool ui = false;  ///< it has the extension `io.modelcontextprotocol/ui`
    bool watchable = false;  ///< it tells when a single resource changes
    std::string instructions;  ///< to be passed on; empty: none
    /// Keys of what is held back: in no list, but known, so that calls are told why
    std::vector<std::string> held_resources, held_prompts;
};

/// Names of the unlisted tools of an upstream: `<source>__<name>`.
inline constexpr std::string_view kReadTool = "resources.read";  ///< {"uri"}
inline constexpr std::string_view kGetTool = "prompts.get";  ///< {"name", "arguments"}
inline constexpr std::string_view kCompleteTool = "complete";  ///< {"ref", "argument", "context"}

inline bool is_method_tool(std::string_view name) {
    return name == kReadTool || name == kGetTool || name == kCompleteTool;
}

/// The catalogs of all upstreams. Any number of threads.
class Catalogs {
public:
    using All = std::map<std::string, std::shared_ptr<const Catalog>, std::less<>>;  ///< by source

    /// Puts `catalog` in the place of the one before of this source.
    void set(const std::string& source, std::shared_ptr<const Catalog> catalog);
    void drop(std::string_view source);
    /// All of them at this moment; never null.
    std::shared_ptr<const All> get() const { return all_.get(); }
    /// Grows with every change.
    std::uint64_t version() const { return all_.version(); }
    /// Told after each change.
    ChangeSignal& changes() { return changes_; }

private:
    OrderedMutex<LockRank::kCatalogs> writing_;
    Published<All> all_{std::make_shared<const All>()};
    ChangeSignal changes_;
};

/// Which resources clients watch, for the upstreams to tell of. Any number of threads. An upstream
/// is asked for a limited number of them, so that nobody's watches are silently left out: what has
/// no room is refused, and the last places are for principals that have few.
class ResourceWatches {
public:
    static constexpr std::size_t kMostOfSource = 256;
    static constexpr std::size_t kKeptFree = 64;  ///< of these, for principals with fewer than
    static constexpr std::size_t kFew = 16;

private:
    using Key = std::pair<std::string, std::string>;  // source, and URI or principal
    struct Watcher {
        std::string principal;
        std::function<void()> updated;
    };
    struct State {
        bool has_room(const Key& key, const std::string& principal) const;

        std::mutex mutex;
        std::map<std::uint64_t, Key> all;
        std::map<Key, std::map<std::uint64_t, Watcher>> watchers;
        std::map<std::string, std::size_t, std::less<>> uris;  ///< that are watched of a source
        /// Of a source by a principal: its URIs, and how often it watches each
        std::map<Key, std::map<std::string, std::size_t>> of_principals;
        std::uint64_t last = 0;
        ChangeSignal changes;
    };

public:
    /// A watched resource; no longer when it ends. May outlive the watches.
    class Handle {
    public:
        Handle() = default;
        Handle(Handle&& other) noexcept
            : state_(std::exchange(other.state_, nullptr)), id_(other.id_) {}
        Handle& operator=(Handle&& other) noexcept {
            std::swap(state_, other.state_);
            std::swap(id_, other.id_);
            return *this;
        }
        ~Handle();

    private:
        friend class ResourceWatches;
        Handle(std::shared_ptr<State> state, std::uint64_t id)
            : state_(std::move(state)), id_(id) {}
        std::shared_ptr<State> state_;
        std::uint64_t id_ = 0;
    };

    /// `uri` in the upstream's own form. `updated` is called on the thread that says so, never once
    /// the handle has ended; it must not block and not use the watches: a post to an event loop.
    /// Nothing when the upstream cannot be asked for more, or not for more of this principal.
    [[nodiscard]] std::optional<Handle> watch(std::string source, std::string uri,
                                              std::string principal, std::function<void()> updated);
    /// What is watched of a source, each URI once, that which is watched longest first.
    std::vector<std::string> wanted(std::string_view source) const;
    /// Told when wanted() of some source has changed.
    ChangeSignal& changes() { return state_->changes; }
    /// The upstream says that this resource has changed.
    void updated(std::string_view source, std::string_view uri);

private:
    std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace crab::mcp
