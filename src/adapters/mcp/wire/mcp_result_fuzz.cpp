// Any JSON object as a result, a tool or a resource: in every revision's form it is JSON again, and
// what a form has left out stays left out.

#include "adapters/mcp/wire/error_form.hpp"
#include "adapters/mcp/wire/listed_object.hpp"
#include "adapters/mcp/wire/own_result.hpp"
#include "adapters/mcp/wire/result.hpp"
#include "adapters/mcp/wire/safe_text.hpp"
#include "adapters/mcp/wire/upstream_error.hpp"
#include "base/fuzz_check.hpp"
#include "json/parser.hpp"
#include "json/raw_parts.hpp"

namespace {

using namespace crab;
using namespace crab::mcp;

constexpr json::Limits kDeep{.max_bytes = 1 << 20, .max_depth = 80};

bool is_object(std::string_view text) {
    json::Parser parser(kDeep);
    const auto root = parser.parse(text);
    return root && root->element().is_object();
}

void check_forms(std::string_view text, Revision revision) {
    const ResultForm form{.revision = revision,
                          .server_info = R"({"name":"crab"})",
                          .meta = R"({"crab/call":{"id":"c"}})",
                          .ttl = Milliseconds(5)};
    for (const auto append :
         {append_plain_result, append_call_result, append_prompt_result, append_read_result}) {
        std::string out, again;
        append(out, text, form);
        require(is_object(out), "a result is an object");
        require(json::find_raw(out, "resultType").has_value() == features_of(revision).result_type,
                "it says its type where there are types");
        append(again, out, form);
        require(is_object(again), "and may be given a form again");
    }
    std::string listed;
    append_listed_object(listed, text, {}, revision);
    require(is_object(listed), "a listed object is an object");
    require(features_of(revision).titles || !json::find_raw(listed, "title"),
            "without what the revision lacks");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    constexpr std::size_t kMost = 16 << 10;
    if (size > kMost) return 0;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const CleanText clean = clean_text(text);
    require(clean_text(clean.text).removed == 0, "what is clean stays clean");
    require(skeleton(clean.text) == skeleton(text), "what nobody sees changes no look");
    if (!is_object(text)) return 0;
    for (const Revision revision :
         {Revision::k2024_11_05, Revision::k2025_03_26, Revision::k2025_06_18,
          Revision::k2025_11_25, Revision::k2026_07_28})
        check_forms(text, revision);
    require(is_object(core_result(text)) && is_object(json_result(text)), "results are objects");
    if (const auto schema = object_schema(text)) require(is_object(*schema), "so is a schema");
    std::string failed;
    append_error_result(failed,
                        Error{.code = ErrorCode::kToolFailed,
                              .message = first_text(text),
                              .details = std::string(text),
                              .retryable = {},
                              .retry_after = {}},
                        {});
    require(is_object(failed), "and a failed call's");
    (void)bridge_error({.code = -32042, .message = "m", .data = std::string(text)},
                       {.client = Revision::k2025_06_18});
    return 0;
}
