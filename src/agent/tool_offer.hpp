#pragma once

#include "agent/agent_options.hpp"
#include "agent/model_client.hpp"
#include "core/registry/registry.hpp"
#include "core/registry/tool_index.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace crab::agent {

/// The tool with which a model searches for others when there are too many to offer; a reserved
/// name, handled by the turn loop.
inline constexpr std::string_view kFindTools = "find_tools";

/// A visible tool and its estimated tokens.
struct PricedTool {
    OfferedToolRef tool;
    std::size_t tokens = 0;  ///< estimated
    bool offered = false;
};

/// The tools offered with one request.
struct ToolOffer {
    std::vector<OfferedToolRef> tools;
    std::size_t tokens = 0;  ///< of those
    std::size_t visible = 0;  ///< tools that the turn may call
    std::size_t visible_tokens = 0;
    bool searched = false;  ///< find_tools replaces those that are left out
};

/// Estimate of the tokens that this tool costs in a request.
std::size_t estimated_tokens(const OfferedTool& tool);

/// Selects the tools to offer to a model: all of them if they fit the agent's budget, else the
/// pinned ones, those of `wanted` that fit (found or called before, latest last), and find_tools.
/// Used on one thread.
class ToolOffers {
public:
    ToolOffer offer(std::span<const core::RegistrySnapshot::Listed> listed,
                    const AgentOptions& agent, std::span<const std::string> wanted);
    /// The same decision, tool by tool, for people.
    std::vector<PricedTool> prices(std::span<const core::RegistrySnapshot::Listed> listed,
                                   const AgentOptions& agent, ToolOffer& offer);

    /// For the index: the same object while the tools do not change.
    std::shared_ptr<const core::ToolCatalog> catalog(
        std::span<const core::RegistrySnapshot::Listed> listed);

private:
    std::vector<PricedTool> price(std::span<const core::RegistrySnapshot::Listed> listed);
    ToolOffer choose(std::vector<PricedTool>& priced,
                     std::span<const core::RegistrySnapshot::Listed> listed,
                     const AgentOptions& agent, std::span<const std::string> wanted);

    /// A tool converted for models, once per registration.
    struct Known {
        std::weak_ptr<const core::Tool> tool;
        OfferedToolRef offered;
        std::size_t tokens = 0;
    };
    static constexpr std::size_t kMostKnown = 8'192;
    const Known& know(const core::RegistrySnapshot::Listed& listed);

    std::unordered_map<const core::Tool*, Known> known_;
    std::shared_ptr<const core::ToolCatalog> catalog_ = std::make_shared<core::ToolCatalog>();
};

/// The output of find_tools; `found` are names of tools of `catalog`.
std::string found_text(const core::ToolCatalog& catalog, std::span<const std::string> found);

}  // namespace crab::agent
