#include "agent/model_api.hpp"

#include "base/cut_text.hpp"
#include "json/parser.hpp"

#include <fmt/format.h>

namespace crab::agent {
namespace {

constexpr std::size_t kMostText = 300;

}  // namespace

std::string refusal_text(std::string_view body) {
    json::Parser parser(json::Limits{.max_bytes = std::size_t{1} << 20, .max_depth = 64});
    const auto root = parser.parse(body);
    if (!root) return {};
    const auto error = json::get(root->element(), "error");
    std::string_view text = json::get_string(root->element(), "error").value_or("");
    if (text.empty() && error) text = json::get_string(*error, "message").value_or("");
    if (text.empty()) text = json::get_string(root->element(), "message").value_or("");
    return std::string(cut_text(text, kMostText));
}

Error refusal(int status, std::string_view text) {
    const auto error = [&](ErrorCode code, std::string_view what) {
        const std::string_view colon = text.empty() ? "" : ": ";
        return Error{.code = code,
                     .message = fmt::format("{} (HTTP {}){}{}", what, status, colon, text),
                     .details = {},
                     .retryable = {},
                     .retry_after = {}};
    };
    // Some vendors repeat parts of the key in what they say about it.
    if (status == 401 || status == 403) {
        text = {};
        return error(ErrorCode::kUnauthenticated,
                     "the model refused our credentials; check the key of this model");
    }
    if (status == 404)
        return error(ErrorCode::kUnavailable, "the model's server knows no such model or path");
    if (status == 429)
        return error(ErrorCode::kUnavailable, "the model is asked too often; try again later");
    if (status >= 500) return error(ErrorCode::kUnavailable, "the model's server failed");
    if (status == 200)
        return error(ErrorCode::kUnavailable,
                     "the model's server failed in the middle of its answer");
    return error(ErrorCode::kInternal, "the model's server did not take the request");
}

}  // namespace crab::agent
