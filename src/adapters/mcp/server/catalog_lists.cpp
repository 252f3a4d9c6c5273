#include "adapters/mcp/server/catalog_lists.hpp"

#include "adapters/mcp/wire/listed_object.hpp"
#include "adapters/mcp/wire/name_limit.hpp"
#include "base/encoding.hpp"
#include "crypto/digest.hpp"
#include "json/writer.hpp"

#include <algorithm>
#include <array>
#include <ranges>
#include <tuple>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

namespace crab::mcp {
namespace {

using Items = CatalogView::Items;
using Sources = CatalogView::Sources;

constexpr std::string_view kScheme = "crab://";

void sort_by_name(Items& items) {
    // of two that collide the one of the earlier source stays
    std::ranges::sort(items, [](const CatalogView::Item& a, const CatalogView::Item& b) {
        return std::tie(a.name, a.source->source, a.entry->key) <
               std::tie(b.name, b.source->source, b.entry->key);
    });
    const auto same = std::ranges::unique(items, {}, &CatalogView::Item::name);
    items.erase(same.begin(), same.end());
}

/// What can be asked for: a name above the limit cannot.
bool can_be_named(const Catalog::Entry& entry) { return entry.key.size() <= kMostNameBytes; }

/// All entries of a list of these sources; `plain` and `qualified` make the names of one.
template <class Plain, class Qualified>
Items named(const Sources& sources, std::vector<Catalog::Entry> Catalog::* list, Plain plain,
            Qualified qualified, const CatalogLists::MayUse& may_use,
            bool always_qualified = false) {
    std::unordered_map<std::string, std::size_t> owners;
    Items items;
    for (const Catalog* const source : sources) {
        for (const Catalog::Entry& entry : source->*list | std::views::filter(can_be_named)) {
            if (!may_use(*source, entry.key)) continue;
            items.push_back({plain(entry.key), source, &entry});
            ++owners[items.back().name];
        }
    }
    for (CatalogView::Item& item : items) {
        // What begins like the gateway's own form would pass for another source's.
        if (always_qualified || owners[item.name] > 1 || item.entry->key.starts_with(kScheme))
            item.name = qualified(item.source->source, item.entry->key);
    }
    sort_by_name(items);
    return items;
}

std::string ambiguous(std::string_view name, std::string_view first, std::string_view second) {
    return fmt::format("{} is ambiguous: ask for {} or {}", name, first, second);
}

const Catalog* find_source(const Sources& sources, std::string_view name) {
    const auto found = std::ranges::find(sources, name, &Catalog::source);
    return found == sources.end() ? nullptr : *found;
}

const Catalog* holder_of(const Sources& sources, std::vector<std::string> Catalog::* held,
                         std::string_view key) {
    const auto found = std::ranges::find_if(sources, [&](const Catalog* source) {
        return std::ranges::find(source->*held, key) != (source->*held).end();
    });
    return found == sources.end() ? nullptr : *found;
}

/// The call is told that it is held back, which is more than "not found".
CatalogView::Found find_held_prompt(const Sources& sources, std::string_view name) {
    for (const Catalog* const source : sources) {
        for (const std::string& held : source->held_prompts) {
            const std::string own = tool_name(held);
            if (held == name || own == name || qualified_name(source->source, own) == name)
                return CatalogView::Target{source, held};
        }
    }
    return std::unexpected(std::string());
}

/// The templates that say most of this URI themselves; several if they say equally much.
std::vector<const CatalogView::Item*> closest(const Items& templates, std::string_view uri,
                                              MatchBudget& budget) {
    std::vector<const CatalogView::Item*> best;
    std::size_t most = 0;
    for (const CatalogView::Item& item : templates) {
        const auto literals = match_template(item.entry->key, uri, budget);
        if (budget.used_up()) return {};
        if (!literals || (!best.empty() && *literals < most)) continue;
        if (*literals > most) best.clear();
        most = *literals;
        best.push_back(&item);
    }
    return best;
}

}  // namespace

std::string qualified_uri(std::string_view source, std::string_view uri) {
    return fmt::format("{}{}/{}", kScheme, source, uri);
}

const CatalogView::Item* CatalogView::find(const Items& items, std::string_view name) {
    const auto found = std::ranges::lower_bound(items, name, {}, &Item::name);
    return found != items.end() && found->name == name ? &*found : nullptr;
}

const Catalog* CatalogView::find_readable(std::string_view source) const {
    return find_source(readable, source);
}

bool CatalogView::may_complete(const Catalog& source) const {
    return find_source(completing, source.source) != nullptr;
}

bool CatalogView::sees(const Catalog& source) const {
    return std::ranges::any_of(
        std::array{&readable, &gettable, &completing},
        [&](const Sources* sources) { return find_source(*sources, source.source) != nullptr; });
}

bool CatalogView::has_ui() const {
    return std::ranges::any_of(
        *all, [&](const auto& each) { return each.second->ui && sees(*each.second); });
}

bool CatalogView::Target::exists(MatchBudget& budget) const {
    const auto made_from_it = [&](const Catalog::Entry& entry) {
        return match_template(entry.key, key, budget).has_value();
    };
    return listed || std::ranges::any_of(source->templates, made_from_it);
}

CatalogView::Found CatalogView::find_resource(std::string_view uri, std::string_view linked,
                                              MatchBudget& budget) const {
    if (uri.starts_with(kScheme)) {
        const std::string_view rest = uri.substr(kScheme.size());
        const std::size_t slash = rest.find('/');
        const Catalog* const source = find_readable(rest.substr(0, slash));
        if (source != nullptr && slash != std::string_view::npos) {
            const std::string_view key = rest.substr(slash + 1);
            const Item* const item = find(resources, key);
            return Target{
                source, std::string(key),
                find(resources, uri) != nullptr || (item != nullptr && item->source == source)};
        }
        return std::unexpected(std::string());  // nobody answers in the place of a source
    }
    if (const Item* const item = find(resources, uri))
        return Target{item->source, item->entry->key, true};
    std::vector<const Catalog*> listers;
    for (const Catalog* const source : readable)
        if (find(resources, qualified_uri(source->source, uri)) != nullptr)
            listers.push_back(source);
    if (listers.size() > 1)
        return std::unexpected(ambiguous(uri, qualified_uri(listers[0]->source, uri),
                                         qualified_uri(listers[1]->source, uri)));
    if (const Catalog* const source = find_readable(linked))
        return Target{source, std::string(uri)};
    const std::vector<const Item*> close = closest(templates, uri, budget);
    if (budget.used_up())
        return std::unexpected(fmt::format(
            "there are too many templates to compare this with: ask for {}<source>/<URI>",
            kScheme));
    const auto other = std::ranges::find_if(
        close, [&](const Item* item) { return item->source != close.front()->source; });
    if (other != close.end())
        return std::unexpected(ambiguous(uri, qualified_uri(close.front()->source->source, uri),
                                         qualified_uri((*other)->source->source, uri)));
    if (!close.empty()) return Target{close.front()->source, std::string(uri)};
    // The call is told that it is held back, which is more than "not found".
    if (const Catalog* const source = holder_of(readable, &Catalog::held_resources, uri))
        return Target{source, std::string(uri)};
    const auto has_some = [](const Catalog* source) {
        return !source->resources.empty() || !source->templates.empty();
    };
    if (std::ranges::count_if(readable, has_some) == 1)
        return Target{*std::ranges::find_if(readable, has_some), std::string(uri)};
    return std::unexpected(std::string());
}

CatalogView::Found CatalogView::find_prompt(std::string_view name) const {
    if (const Item* const item = find(prompts, name)) return Target{item->source, item->entry->key};
    const auto [first, end] = std::ranges::equal_range(aliases, name, {}, &Alias::name);
    if (first == end) return find_held_prompt(gettable, name);
    const Item& found = prompts[first->prompt];
    const auto last = std::prev(end);  // one prompt may have the name twice
    if (!first->plain || first->prompt == last->prompt)
        return Target{found.source, found.entry->key};
    return std::unexpected(ambiguous(name, found.name, prompts[last->prompt].name));
}

void CatalogView::name_prompts() {
    for (std::size_t i = 0; i < prompts.size(); ++i) {
        const std::string& key = prompts[i].entry->key;
        const std::string own = tool_name(key);
        aliases.push_back({qualified_name(prompts[i].source->source, own), false, i});
        aliases.push_back({own, true, i});
        if (key != own) aliases.push_back({key, true, i});
    }
    std::ranges::sort(aliases);
}

std::string CatalogView::known_uri(std::string_view source, std::string_view uri) const {
    if (!uri.starts_with(kScheme)) {
        MatchBudget budget;
        const Found found = find_resource(uri, source, budget);
        if (found && found->source->source == source) return std::string(uri);
    }
    return qualified_uri(source, uri);
}

std::shared_ptr<CatalogView> CatalogLists::visible_to(const core::Principal& principal) {
    auto view = std::make_shared<CatalogView>();
    view->all = catalogs_.get();
    view->policy = pipeline_.rules()->policy;
    const auto may_call = [&](const Catalog& source, std::string_view tool) {
        const auto found = pipeline_.resolve(principal, {}, qualified_name(source.source, tool));
        return found && (scope_.is_whole() || scope_.tools.holds(**found));
    };
    for (const auto& [name, source] : *view->all) {
        if (!source->tenant.empty() && !principal.may_act_in(source->tenant.text())) continue;
        if (may_call(*source, kReadTool)) view->readable.push_back(source.get());
        if (may_call(*source, kGetTool)) view->gettable.push_back(source.get());
        if (source->completions && may_call(*source, kCompleteTool))
            view->completing.push_back(source.get());
    }
    return view;
}

CatalogLists::MayUse CatalogLists::may_use(const core::Principal& principal,
                                           std::string_view tool) {
    return [this, policy = pipeline_.rules()->policy, &principal, tool,
            member = tool == kReadTool ? "uri" : "name"](const Catalog& source,
                                                         const std::string& key) {
        const auto found = pipeline_.resolve(principal, {}, qualified_name(source.source, tool));
        std::string args;
        json::Writer(args).begin_object().key(member).string(key).end_object();
        const auto parsed = parser_.parse(args);
        return found && parsed &&
               policy->decide_call(principal, **found, parsed->element()).verdict !=
                   core::Verdict::kDeny;
    };
}

void CatalogLists::fill(CatalogView& view, const core::Principal& principal) {
    const MayUse may_read = may_use(principal, kReadTool);
    const auto uri = [](const std::string& key) { return key; };
    view.resources = named(view.readable, &Catalog::resources, uri, qualified_uri, may_read);
    view.templates = named(view.readable, &Catalog::templates, uri, qualified_uri, may_read);
    const auto plain = [&](const std::string& key) { return listed_name(tool_name(key), names_); };
    const auto qualified = [&](const std::string& source, const std::string& key) {
        return listed_name(qualified_name(source, tool_name(key)), names_);
    };
    const bool prefixed = scope_.prefix == Prefix::kAlways;
    view.prompts = named(view.gettable, &Catalog::prompts, plain, qualified,
                         may_use(principal, kGetTool), prefixed);
    view.name_prompts();
}

std::shared_ptr<const CatalogView> CatalogLists::view_of(const core::PrincipalRef& principal) {
    const std::uint64_t now = version();
    if (auto last = views_.last(*principal, now)) return last;
    views_.begin(now, [all = catalogs_.get()](const CatalogView& view) { return view.all != all; });
    const std::string key = view_key(*principal);
    const auto* const known = views_.find(key);
    if (known != nullptr && known->version == now) return views_.give(principal, *known);
    auto view = visible_to(*principal);
    const auto before = known == nullptr ? nullptr : known->view;
    const bool same = before != nullptr && before->all == view->all &&
                      before->policy == view->policy && before->readable == view->readable &&
                      before->gettable == view->gettable && before->completing == view->completing;
    if (!same) fill(*view, *principal);
    std::shared_ptr<const CatalogView> kept = same ? before : std::move(view);
    const std::size_t items =
        kept->resources.size() + kept->templates.size() + kept->prompts.size();
    views_.keep(key, {.version = now, .view = kept}, items);
    return views_.give(principal, {.version = now, .view = std::move(kept)});
}

void CatalogLists::append_entry(std::string& out, const CatalogView::Item& item,
                                std::string_view name_member, Revision revision) {
    std::string name;
    json::append_quoted(name, item.name);
    const ReplacedMember replaced{name_member, name};
    append_listed_object(out, item.entry->json, std::span(&replaced, 1), revision);
}

const std::string& CatalogLists::digest(const CatalogView& view, CatalogPart part) {
    std::string& digest = view.digests[static_cast<std::size_t>(part)];
    if (!digest.empty()) return digest;
    crypto::Sha256 all;
    const auto add = [&](const Items& items) {
        all.update_number(items.size());
        for (const CatalogView::Item& item : items) {
            all.update_number(item.name.size()).update(item.name);
            all.update_number(item.entry->json.size()).update(item.entry->json);
        }
    };
    if (part == CatalogPart::kPrompts) {
        add(view.prompts);
    } else {
        add(view.resources);
        add(view.templates);
    }
    return digest = to_hex(all.finish());
}

}  // namespace crab::mcp
