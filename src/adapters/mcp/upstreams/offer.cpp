#include "adapters/mcp/upstreams/offer.hpp"

#include "adapters/mcp/upstreams/tool_hosts.hpp"
#include "adapters/mcp/wire/safe_text.hpp"
#include "crypto/digest.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

namespace crab::mcp {
namespace {

using HeldKeys = std::map<std::pair<std::string, std::string>, HeldBack::Why>;

HeldKeys keys_of(const std::vector<HeldBack>& held) {
    HeldKeys keys;
    for (const HeldBack& each : held) keys.emplace(std::pair(each.kind, each.key), each.why);
    return keys;
}

std::vector<Catalog::Entry> accepted(const CatalogReading& reading, const HeldKeys& held) {
    std::vector<Catalog::Entry> entries;
    for (std::size_t i = 0; i < reading.entries.size(); ++i) {
        const PinnedText& pinned = reading.pinned[i];
        if (!held.contains(std::pair(pinned.kind, pinned.key)))
            entries.push_back(reading.entries[i]);
    }
    return entries;
}

std::shared_ptr<const HeldEntries> held_entries(const ReadLists& lists, const HeldKeys& held,
                                                std::optional<HeldBack::Why> holds_all) {
    auto entries = std::make_shared<HeldEntries>();
    if (holds_all) entries->hold_all(*holds_all);
    for (const auto& [key, why] : held) entries->hold(key.first, key.second, why);
    for (const Catalog::Entry& each : accepted(lists.resources, held))
        entries->offer_resource(each.key);
    for (const Catalog::Entry& each : accepted(lists.templates, held))
        entries->offer_template(each.key);
    return entries;
}

/// The texts move out of what was read, for they are needed here only.
std::vector<PinnedText> pinned_of(ReadLists& lists) {
    std::vector<PinnedText> all;
    for (ReadTool& tool : lists.tools.tools)
        all.push_back({.kind = std::string(kToolPin),
                       .key = tool.facts.name,
                       .text = std::exchange(tool.pinned, {})});
    for (const CatalogReading* reading : {&lists.resources, &lists.templates, &lists.prompts})
        all.insert(all.end(), reading->pinned.begin(), reading->pinned.end());
    if (!lists.instructions.empty())
        all.push_back(
            {.kind = std::string(kInstructionsPin), .key = {}, .text = lists.instructions});
    for (PinnedText& each : all) each.digest = crypto::sha256_hex(each.text);
    return all;
}

/// A name that begins like one of another source, `<source>__`, could be taken for it whenever that
/// source is away.
bool reads_as_qualified(std::string_view name) {
    const std::size_t mark = name.find("__");
    return mark != std::string_view::npos && mark > 0;
}

bool has_taken_name(const OfferTerms& terms, std::string_view name) {
    return terms.is_reserved(name) || reads_as_qualified(name);
}

/// Null when it was not offered so.
core::ToolRef same_as_before(const OfferTerms& terms, const ReadTool& read) {
    if (!terms.before) return nullptr;
    const auto found = terms.before->find(read.digest);
    core::ToolRef tool = found != terms.before->end() ? found->second.lock() : nullptr;
    const bool is_taken = has_taken_name(terms, read.tool->spec.name);
    return tool && tool->unique_name_only == is_taken ? tool : nullptr;
}

}  // namespace

std::vector<SkippedEntry> ReadLists::left_out() const {
    std::vector<SkippedEntry> all = tools.left_out;
    for (const CatalogReading* reading : {&resources, &templates, &prompts})
        all.insert(all.end(), reading->left_out.begin(), reading->left_out.end());
    if (beyond > 0)
        all.push_back({.name = {}, .reason = fmt::format("{} entries above the limits", beyond)});
    return all;
}

ReadLists read_lists(const RawLists& raw, const ToolRules& rules, ParamHeaders headers) {
    ReadLists lists{.tools = read_tools(raw.tools, rules, headers),
                    .resources = read_catalog(raw.resources, "uri", kResourcePin),
                    .templates = read_catalog(raw.templates, "uriTemplate", kTemplatePin),
                    .prompts = read_catalog(raw.prompts, "name", kPromptPin),
                    .instructions = clean_text(raw.instructions).text,
                    .beyond = raw.beyond,
                    .pinned = {}};
    lists.pinned = pinned_of(lists);
    return lists;
}

std::vector<HeldBack> find_look_alikes(const ReadLists& lists, const LookAlikes& elsewhere) {
    std::vector<HeldBack> held;
    if (elsewhere.empty()) return held;
    const auto look_at = [&](std::string_view kind, const std::string& name) {
        const std::string other = elsewhere.find(name);
        if (!other.empty())
            held.push_back({.kind = std::string(kind),
                            .key = name,
                            .why = HeldBack::Why::kLooksAlike,
                            .was = other,
                            .now = name,
                            .digest = crypto::sha256_hex(other)});
    };
    for (const ReadTool& tool : lists.tools.tools) look_at(kToolPin, tool.facts.name);
    for (const Catalog::Entry& prompt : lists.prompts.entries) look_at(kPromptPin, prompt.key);
    return held;
}

Offer make_offer(const ReadLists& lists, const std::vector<HeldBack>& held,
                 const OfferTerms& terms) {
    const HeldKeys keys = keys_of(held);
    const std::string& source = terms.source.name;
    Offer offer;
    const auto add = [&](std::shared_ptr<core::Tool> tool) -> core::ToolRef& {
        if (has_taken_name(terms, tool->spec.name)) tool->unique_name_only = true;
        tool->set_source(terms.source);
        tool->gate = terms.gate;
        return offer.tools.emplace_back(std::move(tool));
    };
    for (auto& tool : make_method_tools(terms.calls, held_entries(lists, keys, terms.holds_all)))
        add(std::move(tool));
    auto own = std::make_shared<OfferedTools>();
    for (const ReadTool& read : lists.tools.tools) {
        const auto why = keys.find(std::pair(std::string(kToolPin), read.facts.name));
        if (why != keys.end()) {
            add(make_held_back(*read.tool, source, why->second));
            continue;
        }
        core::ToolRef tool = same_as_before(terms, read);
        if (tool) {
            offer.tools.push_back(tool);
        } else {
            // a registered tool does not change: another one takes its place
            auto made = std::make_shared<core::Tool>(*read.tool);
            made->host = std::make_shared<UpstreamToolHost>(terms.calls, read.facts);
            tool = add(std::move(made));
        }
        own->emplace(read.digest, tool);
        ++offer.usable;
    }
    offer.own = std::move(own);
    offer.catalog = std::make_shared<Catalog>();
    offer.catalog->source = source;
    offer.catalog->resources = accepted(lists.resources, keys);
    offer.catalog->templates = accepted(lists.templates, keys);
    offer.catalog->prompts = accepted(lists.prompts, keys);
    for (const auto& [entry, why] : keys) {
        if (entry.first == kPromptPin) offer.catalog->held_prompts.push_back(entry.second);
        if (entry.first == kResourcePin) offer.catalog->held_resources.push_back(entry.second);
    }
    if (!keys.contains(std::pair(std::string(kInstructionsPin), std::string())))
        offer.catalog->instructions = lists.instructions;
    return offer;
}

}  // namespace crab::mcp
