#include "adapters/cetp/method_call.hpp"

#include "json/element.hpp"
#include "json/parser.hpp"
#include "json/writer.hpp"

namespace crab::cetp {

MethodCall MethodCall::execute_tool(std::string tool, std::string args, std::string request_id) {
    MethodCall call{.method = std::string(kExecuteTool)};
    call.extras.emplace("tool_name", std::move(tool));
    call.extras.emplace("args", std::move(args));
    if (!request_id.empty()) call.extras.emplace("request_id", std::move(request_id));
    return call;
}

std::string MethodCall::extra(std::string_view name, std::string_view otherwise) const {
    const auto found = extras.find(name);
    return found != extras.end() ? found->second : std::string(otherwise);
}

std::string to_wire(const MethodCall& call) {
    std::string text;
    json::Writer writer(text);
    writer.begin_object().key("method").string_lossy(call.method).key("extras").begin_object();
    for (const auto& [name, value] : call.extras) writer.key(name).string_lossy(value);
    writer.end_object().end_object();
    return text;
}

Result<MethodCall> parse_method_call(std::string_view text) {
    json::Parser parser;
    const auto root = parser.parse(text);
    if (!root) return fail(root.error());
    const auto method = json::get_string(root->element(), "method");
    if (!method || method->empty())
        return fail(ErrorCode::kInvalidArgs, "a call names its `method`");
    MethodCall call{.method = std::string(*method)};
    if (const auto extras = json::get_object(root->element(), "extras")) {
        for (const auto [name, value] : *extras) {
            std::string_view string;
            if (value.get(string) == simdjson::SUCCESS)
                call.extras.insert_or_assign(std::string(name), std::string(string));
        }
    }
    return call;
}

Result<std::string> checked_args(const MethodCall& call, const json::Schema& schema) {
    std::string args = call.extra("args");
    if (args.empty()) args = "{}";
    json::Parser parser;
    const auto parsed = parser.parse(args);
    if (!parsed || !parsed->element().is_object())
        return fail(ErrorCode::kInvalidArgs, "/: the arguments are no JSON object");
    if (const auto wrong = schema.validate(parsed->element(), 1); !wrong.empty())
        return fail(ErrorCode::kInvalidArgs, wrong[0].message);
    return args;
}

}  // namespace crab::cetp
