#include "adapters/mcp/server/tool_lists.hpp"

#include "adapters/mcp/server/tool_search.hpp"
#include "adapters/mcp/wire/listed_object.hpp"
#include "base/token_estimate.hpp"
#include "json/raw_parts.hpp"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

namespace crab::mcp {
namespace {

using Listed = core::RegistrySnapshot::Listed;

/// So many items are put into a list, or taken out, one by one; with more all of it is gone
/// through.
constexpr std::size_t kFew = 8;
constexpr std::string_view kAnyObject = R"({"type":"object"})";

/// Section 4.4: all four are written out.
ToolHints hints_of(const core::ToolSpec& spec) {
    return {.read_only = spec.effects() == core::Effects::kNone,
            .destructive = spec.annotations.destructive.value_or(spec.may_have_effects()),
            .idempotent = spec.idempotent,
            .open_world = spec.annotations.open_world.value_or(true)};
}

const std::string& plain_name(const core::Tool& tool) {
    return tool.has_plain_name() ? tool.spec.name : tool.unique_name;
}

/// Which of the listed tools have a plain name that another one has too, as plain or as unique
/// name. What the registry lists by its plain name has none. `beside`: more of those that there
/// are.
class NameCollisions {
public:
    NameCollisions(const std::vector<Listed>& listed, const std::vector<Listed>& beside) {
        for (const Listed& each : listed)
            if (each.name != plain_name(*each.tool)) tools_of_.try_emplace(plain_name(*each.tool));
        if (tools_of_.empty()) return;
        for (const auto* const list : {&listed, &beside}) {
            for (const Listed& each : *list) {
                const std::string& plain = plain_name(*each.tool);
                count(plain);
                if (each.tool->unique_name != plain) count(each.tool->unique_name);
            }
        }
    }
    bool has(const core::Tool& tool) const {
        const auto found = tools_of_.find(plain_name(tool));
        return found != tools_of_.end() && found->second > 1;
    }

private:
    void count(std::string_view name) {
        if (const auto found = tools_of_.find(name); found != tools_of_.end()) ++found->second;
    }

    std::unordered_map<std::string_view, std::size_t, TextHash> tools_of_;
};

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
    for (const std::vector<Item>* const list : {&items, &unlisted}) {
        const auto found = std::ranges::lower_bound(*list, name, {}, &Item::name);
        if (found != list->end() && found->name == name) return &*found;
    }
    return nullptr;
}

const ToolView::Item* ToolView::find_by_any_name(std::string_view name) const {
    if (const Item* const item = find(name)) return item;
    const Item* plain = nullptr;
    std::size_t plains = 0;
    for (const std::vector<Item>* const list : {&items, &unlisted}) {
        for (const Item& item : *list) {
            if (item.tool->unique_name == name) return &item;
            if (item.tool->spec.name == name && item.tool->has_plain_name() && ++plains == 1)
                plain = &item;
        }
    }
    return plains == 1 ? plain : nullptr;
}

std::uint64_t ToolLists::version() {
    if (const auto& rules = pipeline_.rules(); rules != rules_) {
        rules_ = rules;
        ++rules_version_;
    }
    return registry_.published().version() + rules_version_;  // both only grow
}

std::string ToolLists::name_of(const core::Tool& tool, bool is_only_one) const {
    for (const std::string* const own : {&tool.unique_name, &tool.spec.name}) {
        if (scope_.renamed.empty()) break;
        const auto renamed = scope_.renamed.find(*own);
        if (renamed != scope_.renamed.end() && (*own == tool.unique_name || tool.has_plain_name()))
            return renamed->second;
    }
    const bool plain =
        scope_.prefix == Prefix::kNever || (scope_.prefix == Prefix::kAuto && is_only_one);
    return listed_name(plain ? plain_name(tool) : tool.unique_name, scope_.names);
}

/// Those of the scope, ascending: of two with one name the one first that the registry names first.
std::vector<ToolView::Item> ToolLists::items_of(std::vector<Listed> listed,
                                                std::vector<Listed> beside) const {
    const auto is_elsewhere = [&](const Listed& each) { return !scope_.tools.holds(*each.tool); };
    if (!scope_.is_whole()) {
        std::erase_if(listed, is_elsewhere);
        std::erase_if(beside, is_elsewhere);
    }
    const NameCollisions collisions(listed, beside);
    std::vector<ToolView::Item> items;
    items.reserve(listed.size());
    for (Listed& each : listed) {
        std::string name = name_of(*each.tool, !collisions.has(*each.tool));
        items.push_back({std::move(name), std::move(each.name), std::move(each.tool)});
    }
    // most are in order already
    const auto key = [](const ToolView::Item& item) { return std::tie(item.name, item.own_name); };
    if (!std::ranges::is_sorted(items, {}, key)) std::ranges::sort(items, {}, key);
    return items;
}

std::shared_ptr<ToolView> ToolLists::make_view(const core::Principal& principal) {
    auto view = std::make_shared<ToolView>();
    view->registry = pipeline_.list_number();  // what comes later is looked at once more
    view->rules = rules_version_;
    view->items = items_of(pipeline_.list(principal), {});
    const auto same = std::ranges::unique(view->items, {}, &ToolView::Item::name);
    view->has_lost_names = !same.empty();
    view->items.erase(same.begin(), same.end());
    for (const ToolView::Item& item : view->items) account(*view, item, true);
    if (has_budget()) keep_to_budget(*view);
    return view;
}

/// The view as it is now, made of the one before; null when it has to be made of the whole list.
std::shared_ptr<ToolView> ToolLists::patched(std::shared_ptr<const ToolView> before,
                                             const core::Principal& principal) {
    if (before->rules != rules_version_ || before->has_lost_names || has_budget()) return nullptr;
    const std::uint64_t registry = pipeline_.list_number();
    auto change = pipeline_.list_change(principal, before->registry);
    if (!change) return nullptr;
    // nobody else looks at it: its items need not be copied
    auto view = before.use_count() == 1 ? std::const_pointer_cast<ToolView>(std::move(before))
                                        : std::make_shared<ToolView>(*before);
    view->registry = registry;
    view->catalog = nullptr;
    if (change->names.empty()) return view;
    std::vector<ToolView::Item> now = items_of(std::move(change->now), std::move(change->beside));
    replace_items(*view, change->names, now);
    drop_items(*view, change->names);
    return add_items(*view, std::move(now)) ? view : nullptr;
}

/// Of a tool that came again under both its names only the tool is another: the list stays in
/// order. What is replaced is in neither `own_names` nor `now` any more.
void ToolLists::replace_items(ToolView& view, std::set<std::string, std::less<>>& own_names,
                              std::vector<ToolView::Item>& now) {
    std::erase_if(now, [&](ToolView::Item& item) {
        const auto found =
            std::ranges::lower_bound(view.items, item.name, {}, &ToolView::Item::name);
        if (found == view.items.end() || found->name != item.name ||
            found->own_name != item.own_name || own_names.erase(item.own_name) == 0)
            return false;
        account(view, *found, false);
        account(view, item, true);
        *found = std::move(item);
        return true;
    });
}

void ToolLists::drop_items(ToolView& view, const std::set<std::string, std::less<>>& own_names) {
    if (view.other_names == 0 && own_names.size() <= kFew) {
        for (const std::string& name : own_names) {
            const auto found =
                std::ranges::lower_bound(view.items, name, {}, &ToolView::Item::name);
            if (found == view.items.end() || found->name != name) continue;
            account(view, *found, false);
            view.items.erase(found);
        }
        return;
    }
    auto kept = view.items.begin();
    for (ToolView::Item& item : view.items) {
        if (own_names.contains(item.own_name)) {
            account(view, item, false);
            continue;
        }
        if (&*kept != &item) *kept = std::move(item);
        ++kept;
    }
    view.items.erase(kept, view.items.end());
}

/// False when one of them has the name of another, so that somebody has to go without.
bool ToolLists::add_items(ToolView& view, std::vector<ToolView::Item> added) {
    if (added.empty()) return true;
    const auto is_taken = [&](const ToolView::Item& item) {
        return view.find(item.name) != nullptr;
    };
    if (std::ranges::adjacent_find(added, {}, &ToolView::Item::name) != added.end() ||
        std::ranges::any_of(added, is_taken))
        return false;
    for (const ToolView::Item& item : added) account(view, item, true);
    if (added.size() <= kFew) {
        for (ToolView::Item& item : added) {
            const auto at =
                std::ranges::lower_bound(view.items, item.name, {}, &ToolView::Item::name);
            view.items.insert(at, std::move(item));
        }
        return true;
    }
    std::vector<ToolView::Item> all;
    all.reserve(view.items.size() + added.size());
    const auto moved = [](auto at) { return std::make_move_iterator(at); };
    std::merge(moved(view.items.begin()), moved(view.items.end()), moved(added.begin()),
               moved(added.end()), std::back_inserter(all),
               [](const auto& one, const auto& other) { return one.name < other.name; });
    view.items = std::move(all);
    return true;
}

/// Of an item that comes, or goes: its source and its part of the digests.
void ToolLists::account(ToolView& view, const ToolView::Item& item, bool comes) {
    if (item.name != item.own_name) comes ? ++view.other_names : --view.other_names;
    const std::string& source = item.tool->source.name;
    if (comes) {
        ++view.sources[source];
    } else if (const auto its = view.sources.find(source); --its->second == 0) {
        view.sources.erase(its);
    }
    for (std::size_t i = 0; i < kRevisions; ++i) {
        std::optional<EntrySum>& sum = view.digests[i];
        if (!sum) continue;
        const auto& digest = entry_digest(item, static_cast<Revision>(i));
        comes ? sum->add(digest) : sum->remove(digest);
    }
}

/// Puts a search in the place of what exceeds the budget, if that costs a model fewer tokens: the
/// tools of the search, those that are pinned, and what one search gives to read.
void ToolLists::keep_to_budget(ToolView& view) {
    const auto price = [&](const ToolView::Item& item) {
        return estimated_tokens(entry(item, Revision::k2026_07_28).size());
    };
    for (const ToolView::Item& item : view.items) view.all_tokens += price(item);
    const auto exceeds = [](std::size_t value, std::size_t most) {
        return most > 0 && value > most;
    };
    if (!exceeds(view.items.size(), scope_.most_tools) &&
        !exceeds(view.all_tokens, scope_.most_tokens))
        return;
    std::vector<ToolView::Item> shown = search_tools(), rest;
    std::size_t tokens = 0;
    for (const ToolView::Item& item : shown) tokens += price(item);
    for (const ToolView::Item& item : view.items) {
        const std::size_t its = price(item);
        // one of somebody's with the name of a tool of the search is called by its qualified name
        if (core::names_tool(scope_.pinned, *item.tool) && item.name != kFindTools &&
            item.name != kCallTool && !exceeds(shown.size() + 1, scope_.most_tools) &&
            !exceeds(tokens + its, scope_.most_tokens)) {
            tokens += its;
            shown.push_back(item);
        } else {
            rest.push_back(item);
        }
    }
    const std::size_t found = view.all_tokens / view.items.size() * kUsuallyFound;
    if (tokens + found >= view.all_tokens) return;
    std::ranges::sort(shown, {}, &ToolView::Item::name);
    view.items = std::move(shown);
    view.unlisted = std::move(rest);
    view.searched = true;
}

std::shared_ptr<const core::ToolCatalog> ToolLists::catalog(const ToolView& view) {
    if (view.catalog) return view.catalog;
    auto made = std::make_shared<core::ToolCatalog>();
    for (const std::vector<ToolView::Item>* const list : {&view.items, &view.unlisted}) {
        for (const ToolView::Item& item : *list) {
            if (item.own_name != kFindTools && item.own_name != kCallTool)
                made->entries.push_back(
                    {.name = item.name, .description = item.tool->spec.description});
        }
    }
    return view.catalog = std::move(made);
}

std::shared_ptr<const ToolView> ToolLists::view_of(const core::PrincipalRef& principal) {
    const std::uint64_t now = version();
    if (auto last = views_.last(*principal, now)) return last;
    // one that nobody asked for since the change before may hold tools that are gone for long
    views_.begin(now, [this](const ToolView& view) { return view.version != looked_at_; });
    looked_at_ = now;
    const std::string key = pipeline_.listing_key(*principal);
    if (const auto* const known = views_.find(key); known != nullptr && known->version == now)
        return views_.give(principal, *known);
    auto before = views_.take(key);
    auto view = before ? patched(std::move(before), *principal) : nullptr;
    if (!view) view = make_view(*principal);
    view->version = now;
    views_.keep(key, {.version = now, .view = view}, view->items.size() + view->unlisted.size());
    return views_.give(principal, {.version = now, .view = std::move(view)});
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

const crypto::Sha256Digest& ToolLists::entry_digest(const ToolView::Item& item, Revision revision) {
    const std::string_view text = entry(item, revision);
    auto& known = made_of(item.tool).digests[static_cast<std::size_t>(revision)];
    if (!known) {
        crypto::Sha256 hash;
        hash.update(salt_);
        hash.update(text);
        known = hash.finish();
    }
    return *known;
}

std::string ToolLists::digest(const ToolView& view, Revision revision) {
    std::optional<EntrySum>& sum = view.digests[static_cast<std::size_t>(revision)];
    if (!sum) {
        sum.emplace();
        for (const ToolView::Item& item : view.items) sum->add(entry_digest(item, revision));
    }
    return sum->text();
}

}  // namespace crab::mcp
