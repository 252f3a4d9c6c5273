#pragma once

#include "base/change_signal.hpp"
#include "base/id.hpp"
#include "base/ordered_mutex.hpp"
#include "base/published.hpp"
#include "base/result.hpp"
#include "core/call/principal.hpp"
#include "core/call/tool.hpp"
#include "core/call/tool_scope.hpp"
#include "core/registry/persistent_map.hpp"
#include "core/registry/persistent_order.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace crab::core {

class AbsentTools;
class Policy;

/// The tools that one caller may see. Listing and calling use the same view and decision.
struct View {
    const Principal* principal = nullptr;    ///< never null when used
    const Policy* policy = nullptr;          ///< never null when used
    std::string_view tenant;                 ///< empty: that of the principal
    std::string_view prefer_source;  ///< a plain name prefers this source's tool
    ConnectionId prefer{};  ///< prefers this connection of a device to the latest one
    const ToolScope* scope = nullptr;  ///< restricts the view further; null: no restriction
};

/// What decides which tools a view without scope and preferences shows: of views with one key each
/// shows the same. Source of the parts: RegistrySnapshot::list(), Policy::caller_key().
std::string listing_key(const View& view);

/// The tools at one moment; immutable.
class RegistrySnapshot {
public:
    /// Resolves `name` for this caller: as a qualified name first, then as a plain one. Errors:
    /// kToolNotFound (with a suggestion), kAmbiguousTool (with the choices), kUnavailable while a
    /// source that may have it has not listed its tools; never kForbidden: tools that may not be
    /// called are not found.
    Result<ToolRef> resolve(const View& view, std::string_view name,
                            std::string_view provider = {}) const;

    struct Listed {
        /// The name by which this caller can call it: plain, or qualified if ambiguous
        std::string name;
        ToolRef tool;
    };
    /// Visible tools in ascending order of name, those after `after`, at most `limit`.
    std::vector<Listed> list(const View& view, std::string_view after = {},
                             std::size_t limit = SIZE_MAX) const;
    std::size_t size() const { return tools_; }

    /// Grows with each change of the tools.
    std::uint64_t number() const { return number_; }
    /// How a view's list differs from that of an earlier snapshot.
    struct ListChange {
        /// Under which something else may be listed now, or nothing
        std::set<std::string, std::less<>> names;
        std::vector<Listed> now;  ///< what is listed under them
        /// Listed under other names as before, but their names are like those of some of `now`
        std::vector<Listed> beside;
    };
    /// Since the snapshot of that number. Nothing when that was too long ago, or so much has
    /// changed that the whole list is as cheap.
    std::optional<ListChange> list_change(const View& view, std::uint64_t since) const;

private:
    friend class Registry;
    using Names = std::set<std::string, std::less<>>;
    static constexpr std::size_t kKeptChanges = 16;
    static constexpr std::size_t kMostChangedNames = 256;
    /// Keys of `entries_` that became something else. It does not change once it is published.
    struct Change {
        std::uint64_t number = 0;
        std::vector<std::string> keys;
    };
    /// The registrations behind one name.
    struct Entry {
        /// Registrations with this unique name (one per connection of a device), oldest first
        std::vector<ToolRef> own;
        PersistentOrder<> plain_of;  ///< unique names of the tools with this plain name
    };
    struct Name {
        /// The registration if there is just one: a fast path
        ToolRef only;
        std::shared_ptr<const Entry> entry;  ///< never null
        bool is_plain = false;  ///< it is the plain name of `only`, and nobody's unique name
    };

    ToolRef visible_own(const View& view, std::string_view unique_name,
                        std::string_view plain_name = {}) const;
    static ToolRef visible_own(const View& view, const Entry& entry,
                               std::string_view plain_name = {});
    template <class F>
    void for_each_candidate(const View& view, std::string_view plain_name, const Entry& entry,
                            F&& visit) const;
    bool is_ambiguous(const View& view, std::string_view plain_name) const;
    ToolRef listed_as(const View& view, std::string_view name, const Name& found) const;
    std::vector<Listed> list_all(const View& view) const;
    ToolRef only_of(std::string_view key, const Entry& entry) const;
    const ToolSource* expected_source(const View& view, std::string_view name,
                                      std::string_view provider) const;
    std::optional<Error> not_here(const View& view, std::string_view name,
                                  std::string_view provider) const;
    bool has_source(std::string_view prefix) const;
    bool add_names_like(Names& names, std::string_view key) const;
    void change(std::string_view key, const std::function<void(Entry&)>& edit);
    void note_changed(std::string_view key);
    void add(const ToolRef& tool);
    void remove(const ToolRef& tool);

    PersistentMap<Name> entries_;
    PersistentOrder<Name> names_;  ///< the same, sorted
    std::shared_ptr<const std::vector<ToolSource>> expected_;  ///< null: none
    std::shared_ptr<const AbsentTools> absent_;  ///< null: none
    std::size_t tools_ = 0;
    std::uint64_t number_ = 0;
    /// The latest changes, in their order; before `known_since_` more has changed than they say
    std::vector<std::shared_ptr<const Change>> changes_;
    std::uint64_t known_since_ = 0;
    std::shared_ptr<Change> changing_;  ///< until this snapshot is published
};
using SnapshotRef = std::shared_ptr<const RegistrySnapshot>;

/// Resolves names to tools for a caller; the only place that does. Thread-safe: changes lock
/// internally, readers use immutable snapshots.
class Registry {
public:
    Registry();

    /// Adds and removes tools of `owner` atomically. Of duplicate names the last wins.
    void change(ConnectionId owner, std::span<const ToolRef> add,
                std::span<const std::string> drop);
    /// Makes `tools` the complete set of `owner`'s tools. Those that it has already stay as they
    /// are.
    void replace(ConnectionId owner, std::span<const ToolRef> tools);
    /// Removes all tools of `owner`, whose connection has closed.
    void remove_owner(ConnectionId owner) { replace(owner, {}); }
    /// The tools of `owner`, sorted by name.
    std::vector<ToolRef> owned_by(ConnectionId owner) const;

    /// Announces a source whose tools are not known yet: until settle(), names that may be its
    /// tools are unavailable instead of unknown. Its name is reserved as a prefix.
    void expect(const ToolSource& source);
    /// The source has listed its tools, or is removed.
    void settle(const ToolSource& source);
    /// Whom to ask for tools of sources that come when they like: a name that may be one of them is
    /// unavailable instead of unknown. Null: nobody.
    void set_absent(std::shared_ptr<const AbsentTools> absent);

    /// Reserves a name of a built-in or configured tool against devices, ignoring case. One that
    /// ends in `__` is a source's prefix: no device gets a name that begins so, whatever it and its
    /// tools are called, not even while the source is away. For as long as the process runs.
    void reserve(std::string_view name);
    bool is_reserved(std::string_view name) const;

    SnapshotRef snapshot() const { return current_.get(); }
    /// For threads that resolve often: create one Reader per thread.
    const Published<RegistrySnapshot>& published() const { return current_; }
    /// Told after each change of the tools.
    ChangeSignal& changes() { return changes_; }

private:
    using Owned = std::map<std::string, ToolRef, std::less<>>;

    std::shared_ptr<RegistrySnapshot> next() const;
    void publish(std::shared_ptr<RegistrySnapshot> next);

    mutable OrderedMutex<LockRank::kRegistry> mutex_;
    Published<RegistrySnapshot> current_;
    ChangeSignal changes_;
    std::unordered_map<ConnectionId, Owned> owners_;
    std::unordered_map<std::string, bool> reserved_;
};

}  // namespace crab::core
