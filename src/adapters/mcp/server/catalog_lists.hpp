#pragma once

#include "adapters/mcp/server/tool_lists.hpp"
#include "adapters/mcp/wire/catalogs.hpp"
#include "adapters/mcp/wire/revision.hpp"
#include "adapters/mcp/wire/uri_template.hpp"
#include "core/pipeline/pipeline.hpp"
#include "json/parser.hpp"

#include <array>
#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace crab::mcp {

/// Lists of catalogs that have their own `list_changed`.
enum class CatalogPart : std::uint8_t { kResources, kPrompts };

/// What one principal may read and get, under the names that lists show, by bytes of these. A
/// resource that several sources have is listed as `crab://<source>/<URI>`, a prompt as
/// `<source>__<name>`.
struct CatalogView {
    struct Item {
        std::string name;  ///< as listed: URI, template, or prompt's name
        const Catalog* source = nullptr;
        const Catalog::Entry* entry = nullptr;
    };
    using Items = std::vector<Item>;
    using Sources = std::vector<const Catalog*>;

    std::shared_ptr<const Catalogs::All> all;  ///< what the pointers are into
    std::shared_ptr<const core::Policy> policy;  ///< that it was made under
    Sources readable, gettable, completing;  ///< by name of the source
    Items resources, templates, prompts;
    /// See CatalogLists::digest()
    mutable std::array<std::string, 2> digests;

    /// Null when nothing of this list has the name.
    static const Item* find(const Items& items, std::string_view name);
    /// The names that prompts have beside the listed one; made by name_prompts().
    struct Alias {
        std::string name;
        bool plain = false;
        std::size_t prompt = 0;  ///< its place among them
        auto operator<=>(const Alias&) const = default;
    };
    std::vector<Alias> aliases;
    void name_prompts();
    const Catalog* find_readable(std::string_view source) const;
    bool may_complete(const Catalog& source) const;
    /// Whether anything of it may be read, got or completed.
    bool sees(const Catalog& source) const;
    /// Whether a source that is seen has the extension.
    bool has_ui() const;

    struct Target {
        const Catalog* source = nullptr;
        std::string key;  ///< URI or name, as the source has it
        bool listed = false;  ///< by the source
        /// Of a resource: whether the source lists it, or a template that it may be made from
        bool exists(MatchBudget& budget) const;
    };
    /// Why there is no target: a message for people. Empty: nothing of that name is known.
    using Found = std::expected<Target, std::string>;
    /// Whom a URI is read from; `linked` is the source that gave the caller a link to it, if any.
    Found find_resource(std::string_view uri, std::string_view linked, MatchBudget& budget) const;
    Found find_prompt(std::string_view name) const;
    /// The form in which clients of this view know a URI of that source: as it is, if who got it
    /// from there and reads it is answered by that source.
    std::string known_uri(std::string_view source, std::string_view uri) const;
};

/// Makes these views, each once for a principal and a state of catalogs and registry. A source is
/// in a view if the principal may call the unlisted tools that serve it, and they are in the scope.
/// One per event loop.
/// Source: docs/protocols/mcp.md, sections 4.1, 4.5, 7.5.
class CatalogLists {
public:
    using MayUse = std::function<bool(const Catalog&, const std::string& key)>;

    CatalogLists(core::Pipeline& pipeline, const Catalogs& catalogs, ToolLists& tools)
        : pipeline_(pipeline),
          catalogs_(catalogs),
          tools_(tools),
          scope_(tools.scope()),
          names_(scope_.names) {}

    std::shared_ptr<const CatalogView> view_of(const core::PrincipalRef& principal);
    /// Whether the principal may use this entry of a source of its view by that tool.
    MayUse may_use(const core::Principal& principal, std::string_view tool);
    /// Changes when what the lists of this part show changes, in whatever revision.
    static const std::string& digest(const CatalogView& view, CatalogPart part);
    /// Appends the item as the list of this revision shows it.
    static void append_entry(std::string& out, const CatalogView::Item& item,
                             std::string_view name_member, Revision revision);
    /// Changes when any view may have changed; cheap to poll.
    std::uint64_t version() { return tools_.version() + catalogs_.version(); }

private:
    std::shared_ptr<CatalogView> visible_to(const core::Principal& principal);
    void fill(CatalogView& view, const core::Principal& principal);

    core::Pipeline& pipeline_;
    const Catalogs& catalogs_;
    ToolLists& tools_;
    const Scope& scope_;
    const NameOptions names_;
    json::Parser parser_;
    ViewCache<CatalogView> views_;
};

/// `crab://<source>/<URI, as it is>`
std::string qualified_uri(std::string_view source, std::string_view uri);

}  // namespace crab::mcp
