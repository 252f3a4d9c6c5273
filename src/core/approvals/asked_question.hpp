#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/task/task.hpp"
#include "json/element.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace crab::core {

/// What an agent asks the person of its chat in the middle of a turn. Source:
/// docs/protocols/clawseed.md, section 6, "Questions".
struct AskedQuestion {
    struct Option {
        std::string id, label, description;
    };
    enum class Kind : std::uint8_t { kConfirm, kSingleSelect, kMultiSelect, kText };

    std::string tool_call_id;
    Kind kind = Kind::kText;
    std::string question, placeholder;   ///< the latter may be empty
    std::vector<Option> options;         ///< of a selection
};

std::string_view name_of(AskedQuestion::Kind kind);
/// The arguments of `ask_user`. Errors: kInvalidArgs, for the model to read.
Result<AskedQuestion> read_question(json::Element args);
/// What the model reads as the outcome: `{"status","answer"?}` of a response to that question.
/// Errors: kInvalidArgs when it is none.
Result<std::string> read_response(const AskedQuestion& question, json::Element response);

inline constexpr std::string_view kAskUser = "ask_user";
/// JSON Schema of its arguments.
extern const std::string_view kAskUserSchema;

/// Whoever can be asked in a turn.
class Asker {
public:
    virtual ~Asker() = default;
    /// Asks, and waits until there is a response, at most until `deadline`; one question at a time.
    /// What the model reads, as of read_response(); without a response its status is `expired`, or
    /// `cancelled` with the awaiting coroutine.
    virtual Task<std::string> ask(AskedQuestion question, Deadline deadline) = 0;
};

}  // namespace crab::core
