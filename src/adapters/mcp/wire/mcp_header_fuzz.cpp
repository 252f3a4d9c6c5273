// Any bytes as a header value, as a text to encode, and as a schema with declarations: what is
// encoded decodes, can stand in a header, and the headers made of arguments pass their own check.

#include "adapters/mcp/wire/header_params.hpp"
#include "adapters/mcp/wire/header_value.hpp"
#include "base/fuzz_check.hpp"
#include "json/parser.hpp"
#include "net/codec/http_text.hpp"

#include <algorithm>

#include <simdjson.h>

namespace {

using namespace crab;
using namespace crab::mcp;

void check_text(std::string_view text) {
    const std::string value = encode_header_value(text);
    require(std::ranges::all_of(value, [](char c) { return c == '\t' || (c >= 32 && c < 127); }),
            "what is encoded can stand in a header");
    if (simdjson::validate_utf8(text))
        require(decode_header_value(value) == text, "and says what it said");
}

/// `text`: {"schema": …, "arguments": …}
void check_declarations(std::string_view text) {
    json::Parser parser;
    const auto root = parser.parse(text);
    if (!root) return;
    const auto schema = json::get(root->element(), "schema");
    const auto params = schema ? read_header_params(*schema) : std::vector<HeaderParam>{};
    if (!params) return;
    for (const HeaderParam& param : *params) {
        require(!param.name.empty() && net::all_of_class(param.name, net::kTokenChar) &&
                    !param.path.empty(),
                "a declaration is a token on a property");
    }
    const auto arguments = json::get(root->element(), "arguments");
    const HeaderLines lines = make_param_headers(*params, arguments);
    const auto find = [&](std::string_view name) -> std::optional<std::string_view> {
        const auto found = std::ranges::find(lines, name, &HeaderLines::value_type::first);
        if (found == lines.end()) return std::nullopt;
        return found->second;
    };
    const auto checked = check_param_headers(*params, arguments, find);
    require(checked || checked.error().ends_with("is missing"),
            "what is sent is accepted, but for values that no header can say");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    constexpr std::size_t kMost = 16 << 10;
    if (size > kMost) return 0;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    check_text(text);
    if (const auto decoded = decode_header_value(text))
        require(decode_header_value(encode_header_value(*decoded)) == decoded,
                "decoding is stable");
    check_declarations(text);
    return 0;
}
