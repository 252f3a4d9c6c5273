#include "adapters/mcp/server/client_identity.hpp"

#include "adapters/mcp/wire/safe_text.hpp"
#include "json/raw_parts.hpp"

#include <algorithm>

namespace crab::mcp {
namespace {

bool is_plain(char c) { return c >= ' ' && c <= '~'; }

/// One line of text.
std::string kept(std::string_view object, std::string_view member) {
    std::string text = json::find_raw_string(object, member).value_or("");
    if (text.size() > ClientIdentity::kMostBytes) return {};
    if (std::ranges::all_of(text, is_plain)) return text;
    text = clean_text(text).text;
    std::erase_if(text, [](char c) { return c == '\n' || c == '\t'; });
    return text;
}

}  // namespace

ClientIdentity ClientIdentity::read(std::string_view client_info) {
    return {.name = kept(client_info, "name"), .version = kept(client_info, "version")};
}

}  // namespace crab::mcp
