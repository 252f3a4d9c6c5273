// Any request body: calls and cancels are read or refused with a reason, and what was read is
// inside its bounds.

#include "adapters/rtp/calls/call_wire.hpp"
#include "base/fuzz_check.hpp"
#include "json/duplicates.hpp"
#include "json/value.hpp"

namespace {

using namespace crab;

void check_response(std::string_view call_id, std::string_view tool, const core::Outcome& outcome) {
    std::string out;
    rtp::append_call_response(out, call_id, tool, 1, outcome);
    const auto value = json::Value::parse(out);
    require(value.has_value());
    require((value->find("result") != nullptr) == outcome.has_value());
    require((value->find("error") != nullptr) == !outcome.has_value());
    require(*value->find("call_id")->as_string() == call_id);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    constexpr std::size_t kMost = 16 << 10;
    if (size > kMost) return 0;
    const std::string_view body(reinterpret_cast<const char*>(data), size);
    static json::Parser parser;
    {
        core::Call call;
        std::string texts;
        const auto parsed = rtp::parse_call_request(body, parser, texts, call);
        if (parsed) {
            require(!call.id.empty() && call.id.size() <= 256 && !call.tool.empty() &&
                    call.tool.size() <= 256 && !call.tenant.empty());
            require(!call.context.agent_id.empty() && !call.context.session_id.empty());
            require(!call.timeout ||
                    (call.timeout->count() >= 1 && call.timeout->count() <= 120'000));
            require(call.args.data() >= body.data() &&
                    call.args.data() + call.args.size() <= body.data() + body.size());
            require(call.args.starts_with('{') && call.args.ends_with('}'));
            require(call.parsed_args && call.parsed_args->element().is_object() &&
                    !json::find_duplicate(call.parsed_args->element()));
            const core::ToolResult echo{.kind = core::ContentKind::kJson,
                                        .content = std::string(call.args),
                                        .content_type = {},
                                        .logs = {},
                                        .usage = {}};
            check_response(std::string(call.id), std::string(call.tool), echo);
        } else {
            require(parsed.error().http_status == 400 || parsed.error().http_status == 200);
            require(!parsed.error().message.empty());
            check_response(std::string(call.id), std::string(call.tool),
                           fail(ErrorCode::kInvalidArgs, parsed.error().message));
        }
    }
    std::string texts;
    const auto cancel = rtp::parse_cancel_request(body, parser, texts);
    if (cancel) {
        require(!cancel->tenant_id.empty() && !cancel->call_id.empty());
    } else {
        require(!cancel.error().empty());
    }
    return 0;
}
