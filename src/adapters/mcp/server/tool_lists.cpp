#include "adapters/mcp/server/tool_lists.hpp"

#include "adapters/mcp/wire/listed_object.hpp"
#include "base/encoding.hpp"
#include "json/raw_parts.hpp"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

namespace crab::mcp {
namespace {

constexpr std::string_view kAnyObject = R"({"type":"object"})";

/// Section 4.4: all four are written out.
ToolHints hints_of(const core::ToolSpec& spec) {
    return {.read_only = spec.effects() == core::Effects::kNone,
            .destructive = spec.annotations.destructive.value_or(spec.may_have_effects()),
            .idempotent = spec.idempotent,
            .open_world = spec.annotations.open_world.value_or(true)};
}

std::string make_entry(const ToolView::Item& item, Revision revision) {
    const core::ToolSpec& spec = item.tool->spec;
    const auto schema = object_schema(spec.input_schema.empty() ? kAnyObject : spec.input_schema);
    std::string out;
    if (!schema) return out;
    append_tool(out,
                {.name = item.name,
                 .title = spec.title,
                 .description = spec.description,
                 .input_schema = *schema,
                 .output_schema = spec.output_schema,
                 .hints = hints_of(spec),
                 .icons = json::find_raw(spec.front_members, "icons").value_or(""),
                 .meta = json::find_raw(spec.front_members, "_meta").value_or("")},
                revision);
    return out;
}

}  // namespace

const ToolView::Item* ToolView::find(std::string_view name) const {
    const auto found = std::ranges::lower_bound(items, name, {}, &Item::name);
    return found != items.end() && found->name == name ? &*found : nullptr;
}

std::uint64_t ToolLists::version() {
    if (const auto& rules = pipeline_.rules(); rules != rules_) {
        rules_ = rules;
        ++rules_version_;
    }
    return registry_.published().version() + rules_version_;  // both only grow
}

std::shared_ptr<const ToolView> ToolLists::make_view(const core::Principal& principal) const {
    auto view = std::make_shared<ToolView>();
    for (core::RegistrySnapshot::Listed& each : pipeline_.list(principal)) {
        std::string name = listed_name(each.name, names_);
        view->items.push_back({std::move(name), std::move(each.name), std::move(each.tool)});
    }
    // of two that collide the one that the registry names first stays
    std::ranges::sort(view->items, [](const ToolView::Item& a, const ToolView::Item& b) {
        return std::tie(a.name, a.own_name) < std::tie(b.name, b.own_name);
    });
    const auto same = std::ranges::unique(view->items, {}, &ToolView::Item::name);
    view->items.erase(same.begin(), same.end());
    std::set<std::string> sources;
    for (const ToolView::Item& item : view->items) sources.insert(item.tool->source.name);
    view->sources.assign(sources.begin(), sources.end());
    return view;
}

std::shared_ptr<const ToolView> ToolLists::view_of(const core::PrincipalRef& principal) {
    const std::uint64_t now = version();
    views_.begin(now, [](const ToolView&) { return true; });  // it may hold tools that are gone
    const std::string key = view_key(*principal);
    if (const auto* const known = views_.find(key)) return known->view;
    auto view = make_view(*principal);
    views_.keep(key, {.version = now, .view = view}, view->items.size());
    return view;
}

ToolLists::Made& ToolLists::made_of(const core::ToolRef& tool) {
    if (made_.size() >= purge_at_) {
        std::erase_if(made_, [](const auto& each) { return each.second.tool.expired(); });
        purge_at_ = std::max<std::size_t>(256, 2 * made_.size());
    }
    Made& made = made_[tool.get()];
    if (made.tool.lock() != tool) made = Made{.tool = tool};  // another one had this address
    return made;
}

std::string_view ToolLists::entry(const ToolView::Item& item, Revision revision) {
    Made& made = made_of(item.tool);
    if (made.listed_as != item.name) {
        made.listed_as = item.name;
        made.entries = {};
        made.digests = {};
    }
    std::string& text = made.entries[static_cast<std::size_t>(revision)];
    if (text.empty()) text = make_entry(item, revision);
    return text;
}

const std::vector<HeaderParam>& ToolLists::header_params(const core::ToolRef& tool) {
    Made& made = made_of(tool);
    if (std::exchange(made.params_read, true)) return made.params;
    if (!tool->spec.input_schema.contains("x-mcp-header")) return made.params;
    // a schema that breaks the rules declares nothing: its clients cannot send such headers
    if (const auto root = parser_.parse(tool->spec.input_schema)) {
        if (auto params = read_header_params(root->element())) made.params = std::move(*params);
    }
    return made.params;
}

const std::string& ToolLists::digest(const ToolView& view, Revision revision) {
    std::string& digest = view.digests[static_cast<std::size_t>(revision)];
    if (!digest.empty()) return digest;
    crypto::Sha256 all;
    for (const ToolView::Item& item : view.items) {
        const std::string_view text = entry(item, revision);
        auto& known = made_of(item.tool).digests[static_cast<std::size_t>(revision)];
        if (!known) known = crypto::sha256(text);
        all.update(*known);
    }
    return digest = to_hex(all.finish());
}

}  // namespace crab::mcp
