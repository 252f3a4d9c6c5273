#include "sdk/run_handler.hpp"

#include "json/parser.hpp"
#include "sdk/answer_bytes.hpp"

#include <exception>
#include <utility>

#include <fmt/format.h>

namespace crab::sdk {
namespace {

constexpr std::size_t kMaxDepth = 63;  // one less than a frame may have

ToolAnswer internal(std::string_view tool) {
    return ToolAnswer::error(
        "INTERNAL",
        fmt::format("the tool `{}` broke; the log of the program that offers it says why", tool));
}

}  // namespace

Handled checked(std::string_view tool, ToolAnswer answer) {
    if (answer.kind() == ToolAnswer::Kind::kBytes && !bytes_of_answer(answer)) {
        return {internal(tool), fmt::format("{}: the file of the answer cannot be read", tool)};
    }
    if (answer.kind() != ToolAnswer::Kind::kJson) return {std::move(answer), {}};
    json::Parser parser({.max_bytes = answer.content().size(), .max_depth = kMaxDepth});
    if (const auto parsed = parser.parse(answer.content()); !parsed) {
        return {internal(tool),
                fmt::format("{}: the answer is not JSON: {}", tool, parsed.error().message)};
    }
    return {std::move(answer), {}};
}

Handled run_handler(const ToolHandler& handler, std::shared_ptr<CallState> call) {
    const std::string tool = call->tool();
    try {
        return checked(tool, handler(ToolRequest(std::move(call))));
    } catch (const std::exception& error) {
        return {internal(tool), fmt::format("{}: the handler threw: {}", tool, error.what())};
    } catch (...) {
        return {internal(tool),
                fmt::format("{}: the handler threw an object that is not a std::exception", tool)};
    }
}

}  // namespace crab::sdk
