#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/hash.hpp"

namespace crab::agent {

/// Converts `text` to a form that all vendors accept as a tool's name and as a call's id:
/// `[A-Za-z_][A-Za-z0-9_-]{0,63}`; unchanged if it is valid.
std::string fit_for_models(std::string_view text);

/// Maps tool names to names that vendors accept, and back. Valid names are unchanged; collisions
/// are resolved. The same set of names always maps the same way.
class ToolNames {
public:
    static constexpr std::size_t kMost = 64;

    ToolNames() = default;
    /// `names` are the gateway's, each once.
    explicit ToolNames(std::span<const std::string_view> names);

    /// The name for the model; an unknown name (of an earlier tool, in the history) is converted as
    /// well.
    std::string to_model(std::string_view name) const;
    /// The gateway's name; an unknown name is returned unchanged.
    std::string to_gateway(std::string_view told) const;

private:
    /// Only those that differ
    std::unordered_map<std::string, std::string, TextHash, std::equal_to<>> told_;
    std::unordered_map<std::string, std::string, TextHash, std::equal_to<>> meant_;
};

}  // namespace crab::agent
