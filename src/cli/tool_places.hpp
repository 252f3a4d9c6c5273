#pragma once

#include "cli/commands.hpp"

#include <map>
#include <string>

namespace crab::cli {

/// Where the tools of a gateway run, for people; asked for when somebody wants to know, and again
/// for tools that are new. Blocks.
class ToolPlaces {
public:
    explicit ToolPlaces(const Target& target) : target_(target) {}
    /// Such as `device/phone`; empty when it cannot be told.
    std::string of(const std::string& tool);

private:
    void fetch();

    const Target& target_;
    /// By plain and qualified name; empty where a plain one means several
    std::map<std::string, std::string, std::less<>> places_;
};

}  // namespace crab::cli
