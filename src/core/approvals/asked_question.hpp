#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/task/task.hpp"
#include "json/element.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace crab::core {

/// A question that an agent asks the user of its chat during a turn. Source:
/// docs/protocols/clawseed.md, section 6, "Questions".
struct AskedQuestion {
    struct Option {
        std::string id, label, description;
    };
    enum class Kind : std::uint8_t { kConfirm, kSingleSelect, kMultiSelect, kText };

    std::string tool_call_id;
    Kind kind = Kind::kText;
    std::string question, placeholder;   ///< the latter may be empty
    std::vector<Option> options;         ///< for a selection
};

std::string_view name_of(AskedQuestion::Kind kind);
/// The arguments of `ask_user`. Errors: kInvalidArgs, for the model to read.
Result<AskedQuestion> read_question(json::Element args);
/// The outcome for the model: `{"status","answer"?}` of a response to that question. Errors:
/// kInvalidArgs for an invalid response.
Result<std::string> read_response(const AskedQuestion& question, json::Element response);

inline constexpr std::string_view kAskUser = "ask_user";
/// JSON Schema of its arguments.
extern const std::string_view kAskUserSchema;

/// The person who can be asked during a turn.
class Asker {
public:
    virtual ~Asker() = default;
    /// Asks, and waits for a response, at most until `deadline`; one question at a time. Returns
    /// the text of read_response(); without a response its status is `expired`, or `cancelled` with
    /// the awaiting coroutine.
    virtual Task<std::string> ask(AskedQuestion question, Deadline deadline) = 0;
};

}  // namespace crab::core
