#pragma once

#include "adapters/mcp/server/scope.hpp"
#include "adapters/mcp/server/view_cache.hpp"
#include "adapters/mcp/wire/header_params.hpp"
#include "adapters/mcp/wire/revision.hpp"
#include "base/hash.hpp"
#include "core/pipeline/pipeline.hpp"
#include "core/registry/tool_index.hpp"
#include "crypto/digest.hpp"
#include "crypto/random.hpp"
#include "json/parser.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace crab::mcp {

/// Digest of a set of entries, whatever comes and goes in which order. Equal sets have equal sums;
/// who does not know what is hashed before each entry cannot make other sets equal.
class EntrySum {
public:
    void add(const crypto::Sha256Digest& entry) {
        change(entry, [](std::uint64_t& lane, std::uint64_t its) { lane += its; });
    }
    void remove(const crypto::Sha256Digest& entry) {
        change(entry, [](std::uint64_t& lane, std::uint64_t its) { lane -= its; });
    }
    std::string text() const { return {reinterpret_cast<const char*>(&lanes_), sizeof lanes_}; }

private:
    using Lanes = std::array<std::uint64_t, 4>;
    template <class Change>
    void change(const crypto::Sha256Digest& entry, Change by) {
        const auto lanes = std::bit_cast<Lanes>(entry);
        for (std::size_t i = 0; i < lanes.size(); ++i) by(lanes_[i], lanes[i]);
    }
    Lanes lanes_{};
};

/// The tools that a principal, and all who may call the same, see under the names that lists show,
/// by bytes of these.
struct ToolView {
    struct Item {
        std::string name;  ///< as listed
        std::string own_name;  ///< by which the pipeline finds it
        core::ToolRef tool;
    };
    std::vector<Item> items;
    /// How many of them each source has
    std::unordered_map<std::string, std::size_t, TextHash, std::equal_to<>> sources;
    /// Those that have to be searched for, by name too; then `items` has the tools of the search.
    std::vector<Item> unlisted;
    bool searched = false;
    std::size_t all_tokens = 0;  ///< estimated, of all entries; 0: nobody has asked
    /// See ToolLists::catalog()
    mutable std::shared_ptr<const core::ToolCatalog> catalog;
    /// Of the listed entries by revision, when somebody has asked; see ToolLists::digest()
    mutable std::array<std::optional<EntrySum>, kRevisions> digests;

    /// What it was made of, for ToolLists
    std::uint64_t version = 0, registry = 0, rules = 0;
    std::size_t other_names = 0;  ///< of items whose listed name is not that of the pipeline
    bool has_lost_names = false;  ///< several tools had one name, and one of them is listed

    /// Null when no tool of the view, listed or not, has this name in lists.
    const Item* find(std::string_view name) const;
    /// The same by any name of the tool that is only its own here.
    const Item* find_by_any_name(std::string_view name) const;
};

/// Makes the entries of `tools/list`, each once for a tool and a revision, and the views, each once
/// for those who see the same and a state of the registry: an unchanged list costs no work on
/// schemas, and after a change only what has changed is looked at. One per event loop. Source:
/// docs/protocols/mcp.md, sections 4.1, 4.2, 4.4.
class ToolLists {
public:
    /// `can_search`: what exceeds the scope's budget may be searched for. `scope` outlives this.
    ToolLists(core::Pipeline& pipeline, const core::Registry& registry, const Scope& scope,
              bool can_search = false)
        : pipeline_(pipeline), registry_(registry), scope_(scope), can_search_(can_search) {}

    const Scope& scope() const { return scope_; }

    std::shared_ptr<const ToolView> view_of(const core::PrincipalRef& principal);
    /// The tool as the list of this revision shows it. Empty for one whose schema no client can
    /// use, which is left out. Valid until the next call.
    std::string_view entry(const ToolView::Item& item, Revision revision);
    /// Of the view's tools, for a search; made once.
    static std::shared_ptr<const core::ToolCatalog> catalog(const ToolView& view);
    /// What `x-mcp-header` declares in the tool's schema. Valid until the next call.
    const std::vector<HeaderParam>& header_params(const core::ToolRef& tool);
    /// Changes when what the list of this view shows changes.
    std::string digest(const ToolView& view, Revision revision);
    /// Changes when any view may have changed; cheap to poll.
    std::uint64_t version();

private:
    /// What was made of a tool. It stays until the tool is gone.
    struct Made {
        std::weak_ptr<const core::Tool> tool;
        std::string listed_as;
        std::array<std::string, kRevisions> entries;
        std::array<std::optional<crypto::Sha256Digest>, kRevisions> digests;  ///< of entries
        std::vector<HeaderParam> params;
        bool params_read = false;
    };
    Made& made_of(const core::ToolRef& tool);
    const crypto::Sha256Digest& entry_digest(const ToolView::Item& item, Revision revision);
    std::shared_ptr<ToolView> make_view(const core::Principal& principal);
    std::shared_ptr<ToolView> patched(std::shared_ptr<const ToolView> before,
                                      const core::Principal& principal);
    void replace_items(ToolView& view, std::set<std::string, std::less<>>& own_names,
                       std::vector<ToolView::Item>& now);
    bool add_items(ToolView& view, std::vector<ToolView::Item> added);
    void drop_items(ToolView& view, const std::set<std::string, std::less<>>& own_names);
    void account(ToolView& view, const ToolView::Item& item, bool comes);
    std::vector<ToolView::Item> items_of(std::vector<core::RegistrySnapshot::Listed> listed,
                                         std::vector<core::RegistrySnapshot::Listed> beside) const;
    std::string name_of(const core::Tool& tool, bool is_only_one) const;
    bool has_budget() const {
        return can_search_ && (scope_.most_tools > 0 || scope_.most_tokens > 0);
    }
    void keep_to_budget(ToolView& view);

    core::Pipeline& pipeline_;
    const core::Registry& registry_;
    const Scope& scope_;
    const bool can_search_;
    json::Parser parser_;
    std::unordered_map<const core::Tool*, Made> made_;
    std::size_t purge_at_ = 256;
    ViewCache<ToolView> views_;
    std::shared_ptr<const core::CallRules> rules_;
    std::uint64_t rules_version_ = 0;
    std::uint64_t looked_at_ = 0;  ///< the version when a view was asked for last
    const std::string salt_ = crypto::random_hex(16);
};

}  // namespace crab::mcp
