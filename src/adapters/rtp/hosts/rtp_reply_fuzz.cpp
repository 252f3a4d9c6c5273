// Any answer of a tool host: a result, or an error that says whether it may be repeated; lists hold
// only tools that are in order.

#include "adapters/rtp/hosts/host_wire.hpp"
#include "base/fuzz_check.hpp"
#include "json/value.hpp"

namespace {

using namespace crab;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    constexpr std::size_t kMost = 16 << 10;
    if (size > kMost) return 0;
    const std::string_view body(reinterpret_cast<const char*>(data), size);
    static json::Parser parser;
    for (const int status : {200, 204, 302, 403, 404, 429, 500, 503}) {
        const core::Outcome outcome = rtp::read_call_reply(
            {.http_status = status, .body = body, .retry_after = {}}, parser, "c7", "echo");
        if (outcome) {
            require(status < 300 && outcome->kind == core::ContentKind::kJson);
            const auto result = json::Value::parse(outcome->content);
            require(result.has_value() && result->is_object());
        } else {
            const Error& error = outcome.error();
            require(error.retryable.has_value() && !error.message.empty());
            require(error.details.empty() || json::Value::parse(error.details).has_value());
            require(!error.retry_after || error.retry_after->count() >= 0);
        }
    }
    const auto found = rtp::read_discovery(body, parser);
    if (found) {
        for (const auto& tool : found->tools) {
            require(core::is_tool_name(tool->spec.name) && tool->input != nullptr);
            require(tool->spec.default_timeout.count() >= 1 &&
                    tool->spec.default_timeout <= tool->spec.max_timeout);
            require(tool->spec.max_timeout.count() <= 120'000);
        }
        for (const auto& dropped : found->dropped) require(!dropped.reason.empty());
    }
    return 0;
}
