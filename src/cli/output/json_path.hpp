#pragma once

#include "base/result.hpp"
#include "json/value.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace crab::cli {

/// A template in the JSONPath of kubectl, of which this is the common part: text, and in braces
/// `.member`, `['member']`, `[0]`, `[-1]`, `[1:3]`, `[*]`, `.*`, `..member`, `[?(@.member=="x")]`
/// with == != < <= > >=, strings such as "\n", and `{range PATH}…{end}`. `$` and `@` are optional.
/// What is not there is nothing. Immutable.
class JsonPath {
public:
    /// At most 4 KiB; a text without braces that begins with `.`, `$` or `[` is one path.
    /// Errors: kInvalidArgs with the place.
    static Result<JsonPath> parse(std::string_view text);

    /// The template for that value; more than one found value are separated by blanks.
    /// Errors: kOversize when it would be more than 64 MiB.
    Result<std::string> text_for(const json::Value& root) const;
    /// What the first path of the template finds.
    std::vector<const json::Value*> find(const json::Value& root) const;

    struct Part;

private:
    std::shared_ptr<const std::vector<Part>> parts_;
};

}  // namespace crab::cli
