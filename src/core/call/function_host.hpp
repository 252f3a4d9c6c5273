#pragma once

#include "core/call/tool_host.hpp"

#include <functional>
#include <utility>

namespace crab::core {

/// A built-in tool that answers synchronously: `function(args)` gets the arguments, a JSON object
/// that matches the tool's schema, and returns the outcome. Called on any event loop; it must be
/// quick and thread-safe.
class FunctionHost final : public ToolHost {
public:
    using Function = std::function<Outcome(std::string_view args, const Principal& caller)>;
    explicit FunctionHost(Function function) : function_(std::move(function)) {}
    Task<Outcome> run(AdmittedCall call, FrameSink&) override {
        co_return function_(call.args(), *call.principal());
    }

private:
    Function function_;
};

}  // namespace crab::core
