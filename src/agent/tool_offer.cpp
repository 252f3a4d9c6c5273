#include "agent/tool_offer.hpp"

#include "agent/history.hpp"
#include "agent/model_schema.hpp"
#include "base/cut_text.hpp"
#include "json/writer.hpp"

#include <algorithm>
#include <ranges>

#include <fmt/format.h>

namespace crab::agent {
namespace {

constexpr std::size_t kMostDescription = 1'024;   // OpenAI's limit
constexpr std::size_t kPerTool = 12;              // tokens for what surrounds a tool
constexpr std::size_t kMostShown = 300;  // bytes of a description in an outcome of find_tools

OfferedTool search_tool(std::size_t visible, std::size_t shown) {
    return {
        .name = std::string(kFindTools),
        .description = fmt::format(
            "Finds tools by words of their names and descriptions. There are {} tools, of which {} "
            "are shown to you here: look for one that could do what is asked before you say"
            " that it cannot be done. Those it finds can be called from your next step on.",
            visible, shown),
        .schema = R"({"type":"object","properties":{"query":{"type":"string",)"
                  R"("description":"What the tool should do, in a few words"},)"
                  R"("limit":{"type":"integer","description":"Most tools to find,)"
                  R"( 1 to 20; 8 if unset"}},"required":["query"]})"};
}

}  // namespace

std::size_t estimated_tokens(const OfferedTool& tool) {
    return kPerTool +
           estimated_tokens(tool.name.size() + tool.description.size() + tool.schema.size());
}

const ToolOffers::Known& ToolOffers::know(const core::RegistrySnapshot::Listed& listed) {
    const auto& [name, tool] = listed;
    if (const auto it = known_.find(tool.get());
        it != known_.end() && it->second.offered->name == name && it->second.tool.lock() == tool)
        return it->second;
    if (known_.size() >= kMostKnown) known_.clear();
    auto made = std::make_shared<const OfferedTool>(
        OfferedTool{.name = name,
                    .description = std::string(cut_text(tool->spec.description, kMostDescription)),
                    .schema = schema_for_models(tool->spec.input_schema)});
    const std::size_t tokens = estimated_tokens(*made);
    return known_[tool.get()] = Known{.tool = tool, .offered = std::move(made), .tokens = tokens};
}

std::vector<PricedTool> ToolOffers::price(std::span<const core::RegistrySnapshot::Listed> listed) {
    std::vector<PricedTool> priced;
    priced.reserve(listed.size());
    for (const auto& each : listed) {
        const Known& known = know(each);
        priced.push_back({.tool = known.offered, .tokens = known.tokens});
    }
    return priced;
}

ToolOffer ToolOffers::choose(std::vector<PricedTool>& priced,
                             std::span<const core::RegistrySnapshot::Listed> listed,
                             const AgentOptions& agent, std::span<const std::string> wanted) {
    ToolOffer offer{.tools = {}, .visible = priced.size()};
    for (const PricedTool& each : priced) offer.visible_tokens += each.tokens;
    offer.searched = priced.size() > agent.max_tools || offer.visible_tokens > agent.tool_tokens;
    if (!offer.searched) {
        offer.tokens = offer.visible_tokens;
        for (PricedTool& each : priced) each.offered = true;
        return offer;
    }
    // find_tools has its place whatever else has one.
    const std::size_t search_tokens = estimated_tokens(search_tool(priced.size(), priced.size()));
    std::size_t count = 1;
    offer.tokens = search_tokens;
    const auto take = [&](PricedTool& each) {
        if (each.offered || count >= agent.max_tools ||
            offer.tokens + each.tokens > agent.tool_tokens)
            return;
        each.offered = true;
        ++count;
        offer.tokens += each.tokens;
    };
    for (std::size_t i = 0; i < priced.size(); ++i) {
        if (core::names_tool(agent.pinned, *listed[i].tool)) take(priced[i]);
    }
    for (const std::string& name : std::views::reverse(wanted)) {
        const auto it = std::ranges::find_if(
            priced, [&](const PricedTool& each) { return each.tool->name == name; });
        if (it != priced.end()) take(*it);
    }
    return offer;
}

ToolOffer ToolOffers::offer(std::span<const core::RegistrySnapshot::Listed> listed,
                            const AgentOptions& agent, std::span<const std::string> wanted) {
    std::vector<PricedTool> priced = price(listed);
    ToolOffer made = choose(priced, listed, agent, wanted);
    for (PricedTool& each : priced) {
        if (each.offered) made.tools.push_back(std::move(each.tool));
    }
    if (made.searched)
        made.tools.push_back(
            std::make_shared<const OfferedTool>(search_tool(made.visible, made.tools.size())));
    return made;
}

std::vector<PricedTool> ToolOffers::prices(std::span<const core::RegistrySnapshot::Listed> listed,
                                           const AgentOptions& agent, ToolOffer& offer) {
    std::vector<PricedTool> priced = price(listed);
    offer = choose(priced, listed, agent, {});
    return priced;
}

std::shared_ptr<const core::ToolCatalog> ToolOffers::catalog(
    std::span<const core::RegistrySnapshot::Listed> listed) {
    const auto same = [&] {
        return std::ranges::equal(
            catalog_->entries, listed,
            [](const core::ToolCatalog::Entry& entry, const core::RegistrySnapshot::Listed& each) {
                return entry.name == each.name && entry.description == each.tool->spec.description;
            });
    };
    if (!same()) {
        auto made = std::make_shared<core::ToolCatalog>();
        for (const auto& [name, tool] : listed)
            made->entries.push_back({.name = name, .description = tool->spec.description});
        catalog_ = std::move(made);
    }
    return catalog_;
}

std::string found_text(const core::ToolCatalog& catalog, std::span<const std::string> found) {
    std::string out;
    json::Writer writer(out);
    writer.begin_object().key("found").begin_array();
    for (const std::string& name : found) {
        const auto entry =
            std::ranges::find(catalog.entries, name, &core::ToolCatalog::Entry::name);
        writer.begin_object().key("name").string_lossy(name);
        if (entry != catalog.entries.end())
            writer.key("description").string_lossy(cut_text(entry->description, kMostShown));
        writer.end_object();
    }
    writer.end_array().key("of").unsigned_integer(catalog.entries.size());
    if (found.empty()) writer.key("hint").string("no tool has these words; try others");
    writer.end_object();
    return out;
}

}  // namespace crab::agent
