#pragma once

#include "base/result.hpp"
#include "core/call/call.hpp"
#include "json/parser.hpp"

#include <optional>
#include <string>

namespace crab::core {

/// The arguments of one call, parsed with a parser that all calls of a loop share. Any suspension
/// may invalidate them, so access is through read() only, which parses again if needed; stale
/// results throw.
class ParsedArguments {
public:
    /// Uses the front's parse result if it is still valid. Both must outlive this.
    ParsedArguments(json::Parser& shared, Call& call);

    /// The arguments, an object without duplicate names, parsed if needed. Sets `args` of the call
    /// to `{}` if it has none. Errors: kInvalidArgs.
    Result<json::Borrowed> read();
    /// Replaces the arguments and removes the body; does not parse.
    void replace(std::string args);

private:
    Result<void> parse();

    json::Parser& parser_;
    Call& call_;
    std::optional<json::Borrowed> read_;
    bool names_checked_;  ///< for this text; true for the front's
};

}  // namespace crab::core
