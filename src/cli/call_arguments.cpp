#include "cli/call_arguments.hpp"

#include "cli/output/files.hpp"

#include <fmt/format.h>

namespace crab::cli {
namespace {

Result<void> set_pair(json::Value& args, std::string_view pair) {
    const std::size_t equals = pair.find('=');
    if (equals == pair.npos || equals == 0)
        return fail(ErrorCode::kInvalidArgs,
                    fmt::format("--arg {}: write KEY=VALUE or KEY:=JSON", pair));
    const bool insists = pair[equals - 1] == ':';
    const std::string_view key = pair.substr(0, insists ? equals - 1 : equals),
                           text = pair.substr(equals + 1);
    if (key.empty())
        return fail(ErrorCode::kInvalidArgs, fmt::format("--arg {}: the key is missing", pair));
    Result<json::Value> value = json::Value::parse(text);
    if (insists && !value)
        return fail(ErrorCode::kInvalidArgs, fmt::format("--arg {}: the value is not JSON", key));
    const bool is_json = value && (insists || !value->as_string());
    args.set(key, is_json ? std::move(*value) : json::Value(text));
    return {};
}

}  // namespace

Result<json::Value> read_call_arguments(std::string_view text, std::span<const std::string> pairs) {
    json::Value args = json::Value::object();
    if (!text.empty()) {
        const bool from_file = text == "-" || text.starts_with('@');
        Result<std::string> content = !from_file ? Result<std::string>(text)
                                                 : read_input(text == "-" ? text : text.substr(1));
        if (!content) return fail(content.error());
        Result<json::Value> parsed = json::Value::parse(*content);
        if (!parsed)
            return fail(ErrorCode::kInvalidArgs,
                        fmt::format("the arguments are not JSON: {}", parsed.error().message));
        if (!parsed->is_object())
            return fail(ErrorCode::kInvalidArgs,
                        "the arguments have to be a JSON object, such as '{\"key\":\"value\"}'");
        args = std::move(*parsed);
    }
    for (const std::string& pair : pairs) {
        if (auto set = set_pair(args, pair); !set) return fail(set.error());
    }
    return args;
}

}  // namespace crab::cli
