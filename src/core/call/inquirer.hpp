#pragma once

#include "base/result.hpp"
#include "base/task/task.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace crab::core {

/// A question of a tool to whoever is behind the caller, while its call runs.
struct Question {
    enum class Kind : std::uint8_t {
        kForm,      ///< a person fills in a form
        kUrl,       ///< a person opens a page
        kSampling,  ///< the caller's model answers
        kRoots,     ///< which folders the caller works in
    };
    Kind kind = Kind::kForm;
    std::string key;     ///< the tool's own name for it, unique in the call; may be empty
    std::string method;  ///< as in MCP: `elicitation/create`, …
    std::string params;  ///< a JSON object; says who asks
};

class LongCall;

/// Whom a running call may ask for more input: the client of its front. Used on the event loop of
/// the call's front. Source: docs/protocols/mcp.md, sections 4.8 and 5.
class Inquirer {
public:
    /// What the caller can answer.
    struct Answers {
        bool form = false, url = false;
        bool sampling = false, sampling_tools = false, sampling_context = false;
        bool roots = false;

        friend bool operator==(const Answers&, const Answers&) = default;
    };

    virtual ~Inquirer() = default;
    virtual Answers answers() const = 0;
    /// The result object of the question's method, as the caller gave it. Several questions may be
    /// open at once. The call's deadline stands still while one is. Errors: kUnavailable when the
    /// caller cannot be asked any more, kTimeout when it has not answered in time, kToolFailed with
    /// the caller's error.
    virtual Task<Result<std::string>> ask(Question question) = 0;
    /// How often the caller was asked for something; what was asked together counts once.
    virtual unsigned rounds() const { return 0; }
    /// How the call may go on without its request; null: it does not.
    virtual LongCall* long_call() { return nullptr; }
};

}  // namespace crab::core
