#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/hash.hpp"

namespace crab::agent {

/// The names of tools as models' vendors accept them, `[A-Za-z0-9_-]{1,64}`, and back. A name that is fit stays; others have their
/// dots replaced and are cut, and two that would be equal then are told apart. The same set of names always maps the same way.
class ToolNames {
public:
    static constexpr std::size_t kMost = 64;

    ToolNames() = default;
    /// `names` are the gateway's, each once.
    explicit ToolNames(std::span<const std::string_view> names);

    /// What the model is told; for a name of none of these tools (an earlier one, in the history) a fit form of it.
    std::string to_model(std::string_view name) const;
    /// What the model means; a name it was not told stays as it is.
    std::string to_gateway(std::string_view told) const;

private:
    std::unordered_map<std::string, std::string, TextHash, std::equal_to<>> told_;   ///< only those that differ
    std::unordered_map<std::string, std::string, TextHash, std::equal_to<>> meant_;
};

}  // namespace crab::agent
