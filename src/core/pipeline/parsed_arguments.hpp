#pragma once

#include "base/result.hpp"
#include "core/call/call.hpp"
#include "json/parser.hpp"

#include <optional>
#include <string>

namespace crab::core {

/// The arguments of one call, read with a parser that all calls of a loop share. Another call may
/// use the parser during any wait, so nothing that was read outlives one: read() is the only way to
/// the arguments, and reads again what is gone. What it gives refuses to be used later than that.
class ParsedArguments {
public:
    /// Takes what the front has read, if it holds. Both outlive this.
    ParsedArguments(json::Parser& shared, Call& call);

    /// The arguments, an object in which no name is there twice; parsed now unless they are still
    /// there. Sets `args` of the call to `{}` if it has none. Errors: kInvalidArgs.
    Result<json::Borrowed> read();
    /// The call gets these arguments instead, and no body; they are not read yet.
    void replace(std::string args);

private:
    Result<void> parse();

    json::Parser& parser_;
    Call& call_;
    std::optional<json::Borrowed> read_;
    bool names_checked_;  ///< of this text; the front's were
};

}  // namespace crab::core
