#include "crab/tool_request.hpp"

#include "sdk/call_state.hpp"

namespace crab {

const std::string& ToolRequest::call_id() const { return state_->id(); }
const std::string& ToolRequest::tool() const { return state_->tool(); }
const std::string& ToolRequest::args() const { return state_->args(); }
std::chrono::steady_clock::time_point ToolRequest::deadline() const { return state_->deadline(); }
bool ToolRequest::cancelled() const { return state_->cancelled(); }
void ToolRequest::on_cancel(std::function<void()> callback) const {
    state_->on_cancel(std::move(callback));
}
void ToolRequest::log(std::string line) const { state_->log(std::move(line)); }
const std::string& ToolRequest::tenant_id() const { return state_->origin().tenant_id; }
const CallContext& ToolRequest::context() const { return state_->origin().context; }
const std::string& ToolRequest::traceparent() const { return state_->origin().traceparent; }
void ToolRequest::progress(ToolProgress progress) const { state_->progress(std::move(progress)); }

std::optional<std::string> ToolRequest::text(std::string_view name) const {
    const json::Value* value = state_->find(name);
    const std::string* text = value != nullptr ? value->as_string() : nullptr;
    return text != nullptr ? std::optional(*text) : std::nullopt;
}
std::optional<double> ToolRequest::number(std::string_view name) const {
    const json::Value* value = state_->find(name);
    return value != nullptr ? value->as_double() : std::nullopt;
}
std::optional<std::int64_t> ToolRequest::integer(std::string_view name) const {
    const json::Value* value = state_->find(name);
    return value != nullptr ? value->as_int64() : std::nullopt;
}
std::optional<bool> ToolRequest::flag(std::string_view name) const {
    const json::Value* value = state_->find(name);
    const bool* flag = value != nullptr ? value->as_bool() : nullptr;
    return flag != nullptr ? std::optional(*flag) : std::nullopt;
}

}  // namespace crab
