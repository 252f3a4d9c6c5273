#pragma once

#include "json/element.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace crab::rtp {

/// The members of an answer to a call, as far as they are what the schema says; views and elements
/// live as long as the parse result.
struct ReplyParts {
    std::optional<std::string_view> call_id, tool;
    /// One of ok, error, retryable_error, timeout
    std::optional<std::string_view> status;
    std::optional<std::int64_t> duration_ms;
    std::optional<json::Element> result;  ///< an object
    std::optional<json::Element> error;   ///< an object, whose members are those below
    std::string_view code, message;
    std::optional<json::Element> details;  ///< an object
    std::optional<bool> retryable;
    std::vector<std::string> logs;  ///< at most 1024
    /// The first rule of the schema that the answer breaks; empty: none.
    std::string_view broken_rule;
};

ReplyParts read_reply(json::Element root);

}  // namespace crab::rtp
