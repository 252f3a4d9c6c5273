#include "sdk/run_handler.hpp"

#include "json/parser.hpp"

#include <exception>
#include <utility>

#include <fmt/format.h>

namespace crab::sdk {
namespace {

constexpr std::size_t kMaxDepth = 63;  // one less than a frame may have

ToolAnswer internal(const DeviceTool& tool) {
    return ToolAnswer::error("INTERNAL", fmt::format("the tool `{}` broke; the log of its device says why", tool.name));
}

Handled checked(const DeviceTool& tool, ToolAnswer answer) {
    if (answer.kind() != ToolAnswer::Kind::kJson) return {std::move(answer), {}};
    json::Parser parser({.max_bytes = answer.content().size(), .max_depth = kMaxDepth});
    if (const auto parsed = parser.parse(answer.content()); !parsed) {
        return {internal(tool), fmt::format("{}: the answer is no JSON: {}", tool.name, parsed.error().message)};
    }
    return {std::move(answer), {}};
}

}  // namespace

Handled run_handler(const DeviceTool& tool, std::shared_ptr<CallState> call) {
    try {
        return checked(tool, tool.handler(ToolRequest(std::move(call))));
    } catch (const std::exception& error) {
        return {internal(tool), fmt::format("{}: the handler threw: {}", tool.name, error.what())};
    } catch (...) {
        return {internal(tool), fmt::format("{}: the handler threw something that is no std::exception", tool.name)};
    }
}

}  // namespace crab::sdk
