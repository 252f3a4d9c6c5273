#pragma once

#include "core/approvals/approval.hpp"
#include "core/approvals/asked_question.hpp"
#include "core/call/call.hpp"
#include "core/call/tool.hpp"
#include "core/call/tool_result.hpp"
#include "core/chat/turn.hpp"
#include "json/element.hpp"
#include "json/parser.hpp"

#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// The frames of docs/protocols/clawseed.md, sections 2 and 9: functions that write one, and
/// readers of what clients send.
namespace crab::clawseed {

inline constexpr int kVersion = 1;

/// The extensions of section 9 by the names that `connect.capabilities` lists; only those that the
/// client listed are used with it.
enum class Extension : std::uint8_t {
    kReplace,
    kUnregister,
    kRejected,
    kDeadline,
    kCaller,
    kCancel,
    kAccepted,
    kProgress,
    kApprovals,
    kArtifacts,
    kResume,
    kPresence,
    kAskUser,
    kCallIds,
    kDetachedTurns,
    kTraceparent
};
std::string_view name_of(Extension extension);

class Extensions {
public:
    void add(Extension extension) {
        bits_ = static_cast<std::uint16_t>(bits_ | 1u << static_cast<unsigned>(extension));
    }
    bool has(Extension extension) const {
        return (bits_ >> static_cast<unsigned>(extension) & 1u) != 0;
    }
    bool empty() const { return bits_ == 0; }
    std::uint16_t bits() const { return bits_; }

private:
    std::uint16_t bits_ = 0;
};
/// Unknown names are ignored.
Extensions parse_capabilities(json::Element connect);

struct SessionStart {
    std::string_view session_id;
    bool resumed = false;
    std::uint64_t message_count = 0;
    std::string_view name, persona;   ///< empty: left out
    /// What the chat's agent accepts; all false: not sent
    bool pictures = false, files = false, asks = false;
};
void write_session_start(std::string& out, const SessionStart& frame);
/// How a device uploads large results, for `connected`.
struct ArtifactTerms {
    std::size_t inline_bytes = 0;     ///< larger results should be uploaded
    std::uint64_t max_bytes = 0;      ///< of one upload
};
/// The content of `connected` for clients that list capabilities.
struct Terms {
    std::size_t max_message_bytes = 0;
    Milliseconds grace{0};
    std::optional<ArtifactTerms> artifacts{};   ///< for clients that upload
};
/// `terms` null: a client that lists no capabilities.
void write_connected(std::string& out, const Terms* terms);
inline constexpr std::string_view kChallengePath = "/device/challenge";
inline constexpr std::string_view kKeyTokenPath = "/device/token";
inline constexpr std::string_view kUploadPath = "/api/artifacts";

/// A rejected element of `register_tools`.
struct Rejected {
    std::size_t index = 0;
    std::string name;                 ///< as far as it could be read
    ErrorCode code = ErrorCode::kInvalidArgs;
    std::string message;
    SystemTime at{};  ///< set where it is kept
};
void write_tools_registered(std::string& out, std::size_t count, std::size_t registered,
                            std::span<const Rejected> rejected);
void write_registered_tools(std::string& out, std::span<const core::ToolRef> tools);
/// Members of a request for devices that list the matching extension.
struct RequestExtras {
    std::optional<Milliseconds> deadline;  ///< the time left
    std::string_view principal;            ///< the authenticated caller; empty: left out
    std::string_view agent;  ///< the agent that the caller claims to be; empty: left out
    std::string_view traceparent;  ///< empty or malformed: left out
};
void write_tool_call_request(std::string& out, std::string_view id, std::string_view name,
                             std::string_view args, const RequestExtras& extras);
void write_tool_call_cancel(std::string& out, std::string_view id, std::string_view reason);
void write_result_acknowledged(std::string& out, std::string_view id);
void write_error(std::string& out, std::string_view code, std::string_view message);

// Frames of a turn (section 6).
void write_agent(std::string& out, bool start, std::string_view provider, std::string_view model);
/// `chunk`, `thinking`
void write_text(std::string& out, std::string_view type, std::string_view content);
void write_debug_prompt(std::string& out, std::string_view messages, std::int64_t tokens);
/// `call_id` is that of the audit log; empty: left out.
void write_tool_call(std::string& out, std::string_view id, std::string_view name,
                     std::string_view args, std::string_view call_id = {});
/// `presentation` is a JSON object, or empty: left out; `call_id` as above.
void write_tool_result(std::string& out, std::string_view id, std::string_view name,
                       std::string_view output, std::string_view presentation = {},
                       std::string_view call_id = {});
void write_done(std::string& out, std::string_view full_response,
                const core::TurnMetrics* metrics = nullptr);
inline constexpr std::size_t kMostPresentation = 64 * 1024;
/// The display data stored with a turn's answer (core::ChatMessage::display): the `presentation` of
/// its tools' results, and `metrics`.
std::string answer_display(std::span<const std::string> presentations,
                           const core::TurnMetrics* metrics);
void write_image_context(std::string& out, std::span<const std::string> left_out);
/// An agent's question, and the verdict on its answer: `accepted`, `not_pending`, or `rejected`
/// with the reason.
struct QuestionRef {
    std::string_view request_id, session_id, turn_id;
};
void write_ask_user_request(std::string& out, const QuestionRef& about,
                            const core::AskedQuestion& question);
void write_ask_user_ack(std::string& out, std::string_view request_id, std::string_view status,
                        std::string_view error);
void write_title_updated(std::string& out, std::string_view title);
void write_plain(std::string& out, std::string_view type);  ///< `aborted`, `chunk_reset`
void write_abort_ack(std::string& out, bool aborted);

// Approvals, an extension (section 9).
void write_approval_request(std::string& out, const core::ApprovalQuestion& question);
void write_approval_ended(std::string& out, std::string_view id, const core::ApprovalEnd& end);
/// The answer to an `approval_decision` that decided nothing.
void write_approval_refused(std::string& out, std::string_view id, std::string_view code,
                            std::string_view message);
/// `approval_decision`, without the decider. Errors: kInvalidArgs.
struct ApprovalWord {
    std::string id;
    core::ApprovalDecision decision;
};
Result<ApprovalWord> parse_approval_decision(json::Element frame);

/// Attachments of a `message`.
struct Attachments {
    std::vector<std::string> pictures{};  ///< ids, as they were uploaded
    std::string files{};  ///< a JSON array; empty: none
    bool empty() const { return pictures.empty() && files.empty(); }
};
/// Errors: the code of the frame that refuses it, and why.
struct AttachmentFault {
    std::string_view code;
    std::string message;
};
std::expected<Attachments, AttachmentFault> parse_attachments(const json::Root& message);

/// The members of a `tool_result` or `tool_error` frame, of several with one name the first
/// that has the member's type. They live as long as the Root.
struct ReplyMembers {
    std::optional<std::string_view> id, error, artifact;
    std::optional<bool> success;
    std::optional<json::Element> output, presentation;
};
ReplyMembers read_reply(const json::Root& frame);
/// The outcome that such a frame carries (section 4, items 3 and 4).
core::Outcome parse_tool_result(const json::Root& frame, const ReplyMembers& reply);
core::Outcome parse_tool_error(const ReplyMembers& reply);
core::Progress parse_progress(json::Element frame);

/// The identity of a reply that is not readable JSON (a number beyond a double, half a surrogate
/// pair, too deep).
struct UnreadableReply {
    std::string id;
    bool is_error = false;
};
/// Nothing when the top level does not identify a reply. One pass over the text, without recursion.
std::optional<UnreadableReply> find_unreadable_reply(std::string_view frame);

/// `CODE: message` or `[CODE] message` with a code that a tool may claim; kToolFailed otherwise.
/// The text is kept unchanged.
Error error_from_text(std::string_view text);

}  // namespace crab::clawseed
