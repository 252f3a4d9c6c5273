#pragma once

#include "cli/commands.hpp"

#include <map>
#include <string>

namespace crab::cli {

/// Where the tools of a gateway run, for people; loaded on first use, and again for unknown tools.
/// Blocks.
class ToolLocations {
public:
    explicit ToolLocations(const Target& target) : target_(target) {}
    /// Such as `device/phone`; empty if unknown.
    std::string of(const std::string& tool);

private:
    void fetch();

    const Target& target_;
    /// By plain and qualified name; empty for an ambiguous plain name
    std::map<std::string, std::string, std::less<>> places_;
};

}  // namespace crab::cli
