#include "adapters/mcp/server/catalog_lists.hpp"

#include "adapters/mcp/wire/listed_object.hpp"
#include "adapters/mcp/wire/uri_template.hpp"
#include "crypto/digest.hpp"
#include "json/writer.hpp"

#include <algorithm>
#include <array>
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

/// All entries of a list of these sources; `plain` and `qualified` make the names of one.
template <class Plain, class Qualified>
Items named(const Sources& sources, std::vector<Catalog::Entry> Catalog::* list, Plain plain,
            Qualified qualified) {
    std::unordered_map<std::string, std::size_t> owners;
    for (const Catalog* const source : sources)
        for (const Catalog::Entry& entry : source->*list) ++owners[plain(entry.key)];
    Items items;
    for (const Catalog* const source : sources) {
        for (const Catalog::Entry& entry : source->*list) {
            std::string name = plain(entry.key);
            if (owners[name] > 1) name = qualified(source->source, entry.key);
            items.push_back({std::move(name), source, &entry});
        }
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

/// The templates that say most of this URI themselves; several if they say equally much.
std::vector<const CatalogView::Item*> closest(const Items& templates, std::string_view uri) {
    std::vector<const CatalogView::Item*> best;
    std::size_t most = 0;
    for (const CatalogView::Item& item : templates) {
        const auto literals = match_template(item.entry->key, uri);
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

bool CatalogView::Target::exists() const {
    const auto made_from_it = [&](const Catalog::Entry& entry) {
        return match_template(entry.key, key).has_value();
    };
    return std::ranges::find(source->resources, key, &Catalog::Entry::key) !=
               source->resources.end() ||
           std::ranges::any_of(source->templates, made_from_it);
}

CatalogView::Found CatalogView::find_resource(std::string_view uri, std::string_view linked) const {
    if (uri.starts_with(kScheme)) {
        const std::string_view rest = uri.substr(kScheme.size());
        const std::size_t slash = rest.find('/');
        const Catalog* const source = find_readable(rest.substr(0, slash));
        if (source != nullptr && slash != std::string_view::npos)
            return Target{source, std::string(rest.substr(slash + 1))};
    }
    if (const Item* const item = find(resources, uri))
        return Target{item->source, item->entry->key};
    std::vector<const Catalog*> listers;
    for (const Catalog* const source : readable)
        if (find(resources, qualified_uri(source->source, uri)) != nullptr)
            listers.push_back(source);
    if (listers.size() > 1)
        return std::unexpected(ambiguous(uri, qualified_uri(listers[0]->source, uri),
                                         qualified_uri(listers[1]->source, uri)));
    if (const Catalog* const source = find_readable(linked))
        return Target{source, std::string(uri)};
    const std::vector<const Item*> close = closest(templates, uri);
    const auto other = std::ranges::find_if(
        close, [&](const Item* item) { return item->source != close.front()->source; });
    if (other != close.end())
        return std::unexpected(ambiguous(uri, qualified_uri(close.front()->source->source, uri),
                                         qualified_uri((*other)->source->source, uri)));
    if (!close.empty()) return Target{close.front()->source, std::string(uri)};
    if (uri.starts_with(kScheme)) return std::unexpected(std::string());  // no source's own form
    const auto has_some = [](const Catalog* source) {
        return !source->resources.empty() || !source->templates.empty();
    };
    if (std::ranges::count_if(readable, has_some) == 1)
        return Target{*std::ranges::find_if(readable, has_some), std::string(uri)};
    return std::unexpected(std::string());
}

CatalogView::Found CatalogView::find_prompt(std::string_view name) const {
    if (const Item* const item = find(prompts, name)) return Target{item->source, item->entry->key};
    std::vector<const Item*> plain;
    for (const Item& item : prompts) {
        const std::string own = tool_name(item.entry->key);
        if (qualified_name(item.source->source, own) == name)
            return Target{item.source, item.entry->key};
        if (own == name || item.entry->key == name) plain.push_back(&item);
    }
    if (plain.size() == 1) return Target{plain[0]->source, plain[0]->entry->key};
    if (plain.empty()) return std::unexpected(std::string());
    return std::unexpected(ambiguous(name, plain[0]->name, plain[1]->name));
}

std::string CatalogView::known_uri(std::string_view source, std::string_view uri) const {
    std::string qualified = qualified_uri(source, uri);
    return renames && find(resources, qualified) != nullptr ? qualified : std::string(uri);
}

std::shared_ptr<CatalogView> CatalogLists::visible_to(const core::Principal& principal) {
    auto view = std::make_shared<CatalogView>();
    view->all = catalogs_.get();
    const auto may_call = [&](const Catalog& source, std::string_view tool) {
        return pipeline_.resolve(principal, {}, qualified_name(source.source, tool)).has_value();
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

void CatalogLists::fill(CatalogView& view) const {
    const auto uri = [](const std::string& key) { return key; };
    view.resources = named(view.readable, &Catalog::resources, uri, qualified_uri);
    view.templates = named(view.readable, &Catalog::templates, uri, qualified_uri);
    view.renames = std::ranges::any_of(
        view.resources, [](const CatalogView::Item& item) { return item.name != item.entry->key; });
    const auto plain = [&](const std::string& key) { return listed_name(tool_name(key), names_); };
    const auto qualified = [&](const std::string& source, const std::string& key) {
        return listed_name(qualified_name(source, tool_name(key)), names_);
    };
    view.prompts = named(view.gettable, &Catalog::prompts, plain, qualified);
}

std::shared_ptr<const CatalogView> CatalogLists::view_of(const core::PrincipalRef& principal) {
    const std::uint64_t now = version();
    const auto known = views_.find(principal.get());
    if (known != views_.end() && known->second.version == now) return known->second.view;
    if (known == views_.end() && views_.size() >= kMostViews) views_.clear();
    KnownView& kept = views_[principal.get()];
    auto view = visible_to(*principal);
    const CatalogView* const before = kept.view.get();
    const bool same = before != nullptr && before->all == view->all &&
                      before->readable == view->readable && before->gettable == view->gettable &&
                      before->completing == view->completing;
    if (!same) fill(*view);
    kept.principal = principal;
    kept.version = now;
    if (!same) kept.view = std::move(view);
    return kept.view;
}

void CatalogLists::append_entry(std::string& out, const CatalogView::Item& item,
                                std::string_view name_member, Revision revision) {
    std::string name;
    json::append_quoted(name, item.name);
    const ReplacedMember replaced{name_member, name};
    append_listed_object(out, item.entry->json, std::span(&replaced, 1), revision);
}

const std::string& CatalogLists::digest(const CatalogView& view, CatalogPart part,
                                        Revision revision) {
    std::string& digest =
        view.digests[static_cast<std::size_t>(part)][static_cast<std::size_t>(revision)];
    if (!digest.empty()) return digest;
    std::string all;
    const auto add = [&](const Items& items, std::string_view name_member) {
        for (const CatalogView::Item& item : items) {
            append_entry(all, item, name_member, revision);
            all += '\n';
        }
        all += '\n';
    };
    if (part == CatalogPart::kPrompts) {
        add(view.prompts, "name");
    } else {
        add(view.resources, "uri");
        add(view.templates, "uriTemplate");
    }
    return digest = crypto::sha256_hex(all);
}

}  // namespace crab::mcp
