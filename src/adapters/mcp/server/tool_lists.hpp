#pragma once

#include "adapters/mcp/server/view_cache.hpp"
#include "adapters/mcp/wire/header_params.hpp"
#include "adapters/mcp/wire/names.hpp"
#include "adapters/mcp/wire/revision.hpp"
#include "core/pipeline/pipeline.hpp"
#include "crypto/digest.hpp"
#include "json/parser.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace crab::mcp {

/// The tools of one principal's view under the names that lists show, by bytes of these.
struct ToolView {
    struct Item {
        std::string name;  ///< as listed
        std::string own_name;  ///< by which the pipeline finds it
        core::ToolRef tool;
    };
    std::vector<Item> items;
    std::vector<std::string> sources;  ///< that have one of them, ascending
    /// Digest of the listed entries by revision, when somebody has asked; see ToolLists::digest()
    mutable std::array<std::string, kRevisions> digests;

    /// Null when no tool is listed under this name.
    const Item* find(std::string_view name) const;
};

/// Makes the entries of `tools/list`, each once for a tool and a revision, and the views, each once
/// for a principal and a state of the registry: an unchanged list costs no work on schemas. One per
/// event loop. Source: docs/protocols/mcp.md, sections 4.1, 4.2, 4.4.
class ToolLists {
public:
    ToolLists(core::Pipeline& pipeline, const core::Registry& registry, NameOptions names)
        : pipeline_(pipeline), registry_(registry), names_(names) {}

    std::shared_ptr<const ToolView> view_of(const core::PrincipalRef& principal);
    /// The tool as the list of this revision shows it. Empty for one whose schema no client can
    /// use, which is left out. Valid until the next call.
    std::string_view entry(const ToolView::Item& item, Revision revision);
    /// What `x-mcp-header` declares in the tool's schema. Valid until the next call.
    const std::vector<HeaderParam>& header_params(const core::ToolRef& tool);
    /// Changes when what the list of this view shows changes.
    const std::string& digest(const ToolView& view, Revision revision);
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
    std::shared_ptr<const ToolView> make_view(const core::Principal& principal) const;

    core::Pipeline& pipeline_;
    const core::Registry& registry_;
    const NameOptions names_;
    json::Parser parser_;
    std::unordered_map<const core::Tool*, Made> made_;
    std::size_t purge_at_ = 256;
    ViewCache<ToolView> views_;
    std::shared_ptr<const core::CallRules> rules_;
    std::uint64_t rules_version_ = 0;
};

}  // namespace crab::mcp
