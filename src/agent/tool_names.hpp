#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/hash.hpp"

namespace crab::agent {

/// A form of `text` that all vendors accept as a tool's name and as a call's id:
/// `[A-Za-z_][A-Za-z0-9_-]{0,63}`; itself if it is fit.
std::string fit_for_models(std::string_view text);

/// The names of tools as models' vendors accept them, and back. A name that is fit stays; two that
/// would be equal in their fit form are told apart. The same set of names always maps the same way.
class ToolNames {
public:
    static constexpr std::size_t kMost = 64;

    ToolNames() = default;
    /// `names` are the gateway's, each once.
    explicit ToolNames(std::span<const std::string_view> names);

    /// What the model is told; for a name of none of these tools (an earlier one, in the history) a
    /// fit form of it.
    std::string to_model(std::string_view name) const;
    /// What the model means; a name it was not told stays as it is.
    std::string to_gateway(std::string_view told) const;

private:
    /// Only those that differ
    std::unordered_map<std::string, std::string, TextHash, std::equal_to<>> told_;
    std::unordered_map<std::string, std::string, TextHash, std::equal_to<>> meant_;
};

}  // namespace crab::agent
