#pragma once

#include "base/id.hpp"
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
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace crab::core {

class Policy;

/// What one caller may see. Listing and calling go through the same view and the same decision.
struct View {
    const Principal* principal = nullptr;    ///< never null when used
    const Policy* policy = nullptr;          ///< never null when used
    std::string_view tenant;                 ///< empty: that of the principal
    std::string_view prefer_source;  ///< a plain name means this source's tool, if it has one
    ConnectionId prefer{};  ///< among the connections of one device this one wins, not the latest
    const ToolScope* scope = nullptr;  ///< narrows the view further; null: not
};

/// The tools at one moment; immutable.
class RegistrySnapshot {
public:
    /// The tool that `name` means to this caller: a qualified name first, then a plain one.
    /// Errors: kToolNotFound (with a suggestion), kAmbiguousTool (with the choices), kUnavailable
    /// while a source that may have it has not told its tools; kForbidden never: what may not be
    /// called is not found.
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

private:
    friend class Registry;
    /// What one name leads to.
    struct Entry {
        /// Registrations with this unique name (usually one; one for each connection of a device),
        /// oldest first
        std::vector<ToolRef> own;
        PersistentOrder plain_of;  ///< unique names of the tools whose plain name this is
    };
    struct Name {
        /// The registration, when this name can mean just one: no other memory is touched then
        ToolRef only;
        std::shared_ptr<const Entry> entry;  ///< never null
    };

    ToolRef visible_own(const View& view, std::string_view unique_name,
                        std::string_view plain_name = {}) const;
    static ToolRef visible_own(const View& view, const Entry& entry,
                               std::string_view plain_name = {});
    template <class F>
    void for_each_candidate(const View& view, std::string_view plain_name, const Entry& entry,
                            F&& visit) const;
    bool is_ambiguous(const View& view, std::string_view plain_name) const;
    ToolRef only_of(std::string_view key, const Entry& entry) const;
    const ToolSource* expected_source(const View& view, std::string_view name,
                                      std::string_view provider) const;
    bool has_source(std::string_view prefix) const;
    void change(std::string_view key, const std::function<void(Entry&)>& edit);
    void add(const ToolRef& tool);
    void remove(const ToolRef& tool);

    PersistentMap<Name> entries_;
    PersistentOrder names_;
    std::shared_ptr<const std::vector<ToolSource>> expected_;  ///< null: none
    std::size_t tools_ = 0;
};
using SnapshotRef = std::shared_ptr<const RegistrySnapshot>;

/// The one place that answers "who runs this tool for this caller?". Thread-safe: changes lock
/// inside, readers take the current snapshot, which never changes under them.
class Registry {
public:
    Registry();

    /// Adds tools of `owner` and drops others of its, in one atomic step. Of one owner's equal
    /// names the last wins.
    void change(ConnectionId owner, std::span<const ToolRef> add,
                std::span<const std::string> drop);
    /// Drops all tools of `owner` but those in `keep_and_add`, which become its whole set.
    void replace(ConnectionId owner, std::span<const ToolRef> tools);
    /// Drops everything of `owner`: its connection is gone.
    void remove_owner(ConnectionId owner) { replace(owner, {}); }
    /// The tools of `owner`, sorted by name.
    std::vector<ToolRef> owned_by(ConnectionId owner) const;

    /// A source whose tools are not known yet: until settle(), what may be one of them is
    /// unavailable instead of unknown.
    void expect(const ToolSource& source);
    /// The source has told its tools, or is gone.
    void settle(const ToolSource& source);

    /// Names of built-in and configured tools: no device can take them, in any case of letters.
    void reserve(std::string_view name);
    bool is_reserved(std::string_view name) const;

    SnapshotRef snapshot() const { return current_.get(); }
    /// For threads that resolve often: make one Reader for each.
    const Published<RegistrySnapshot>& published() const { return current_; }

private:
    using Owned = std::map<std::string, ToolRef, std::less<>>;

    mutable std::mutex mutex_;
    Published<RegistrySnapshot> current_;
    std::unordered_map<ConnectionId, Owned> owners_;
    std::unordered_map<std::string, bool> reserved_;
};

}  // namespace crab::core
