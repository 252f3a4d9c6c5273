#pragma once

#include "adapters/mcp/upstreams/pins.hpp"

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace crab::mcp {

/// Which resources and prompts of an upstream are held back, for the calls that name one. Tools
/// have hosts of their own that refuse. Immutable once it is made. Source: docs/protocols/mcp.md,
/// section 8, "Pins".
class HeldEntries {
public:
    using Why = HeldBack::Why;

    /// Nothing of the upstream may be used.
    void hold_all(Why why) { all_ = why; }
    void hold(std::string_view kind, const std::string& key, Why why);
    void offer_resource(const std::string& uri) { resources_.insert(uri); }
    void offer_template(const std::string& uri_template) { templates_.push_back(uri_template); }

    /// Why a call of `resources/read`, `prompts/get` or `completion/complete` may not run; nothing
    /// if it may. What the upstream does not list it decides itself, unless only a template that is
    /// held back makes it. A URI is of a held template only where no offered one makes it, too.
    std::optional<Why> find(std::string_view method, std::string_view params) const;

private:
    std::optional<Why> find_resource(std::string_view uri) const;

    std::optional<Why> all_;
    std::map<std::string, Why, std::less<>> held_resources_, held_prompts_, held_templates_;
    std::set<std::string, std::less<>> resources_;
    std::vector<std::string> templates_;
};

}  // namespace crab::mcp
