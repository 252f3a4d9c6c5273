#pragma once

#include "adapters/cetp/label_table.hpp"
#include "adapters/cetp/tool_list.hpp"

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace crab::cetp {

constexpr std::size_t kMaxToolsOfBridge = 256;

/// One provider whose list was read.
struct ListedProvider {
    std::string id;
    std::string name;       ///< for people
    std::string suggested;  ///< label; may be empty
    std::vector<DeclaredTool> tools;
};

/// The target of a registered name.
struct Route {
    std::string name;         ///< as registered with the gateway
    std::string provider_id;
    std::string tool;         ///< the provider's bare name
    std::string description;  ///< never empty: gateways want one
    std::string parameters;   ///< JSON Schema
    friend bool operator==(const Route&, const Route&) = default;
};

/// All tools of one refresh, which replaces the set before it as a whole; immutable.
/// Source: docs/protocols/cetp.md, rules 33 to 36 and 39, section 6.
class ToolSet {
public:
    /// Assigns names in the order of provider ids and records labels in `labels`. Tools beyond 256
    /// are left out.
    static std::shared_ptr<const ToolSet> build(std::vector<ListedProvider> providers,
                                                LabelTable& labels);

    /// nullptr when no tool has that name. A map lookup; names are never split at `__`.
    const Route* find(std::string_view name) const;
    const std::map<std::string, Route, std::less<>>& routes() const { return routes_; }
    const std::vector<std::string>& diagnostics() const { return diagnostics_; }
    /// Whether both sets look the same to the gateway.
    bool same_tools(const ToolSet& other) const { return routes_ == other.routes_; }

private:
    void add(const ListedProvider& provider, const std::string& label, const DeclaredTool& tool);

    std::map<std::string, Route, std::less<>> routes_;
    std::vector<std::string> diagnostics_;
};

}  // namespace crab::cetp
