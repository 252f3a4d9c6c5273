#pragma once

#include "base/result.hpp"
#include "core/call/call.hpp"
#include "core/call/principal.hpp"
#include "core/pipeline/call_runner.hpp"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace crab::fleet {

// The bodies of the messages between nodes: docs/protocols/fleet.md, section 5. Of a message that
// is read, the views are of its body. Reading fails with kInvalidArgs; unknown fields are skipped.

/// Names one call that home has forwarded, for as long as anybody remembers it.
struct ForwardId {
    std::uint64_t high = 0, low = 0;
    friend auto operator<=>(const ForwardId&, const ForwardId&) = default;
};

/// FORWARD, home to owner: run this.
struct ForwardHead {
    ForwardId id;
    std::uint64_t connection = 0, epoch = 0;  ///< the link that has the tool
    std::uint64_t beat = 0;  ///< the newest of the owner's that home has heard
};
/// In the envelope's flags: answer if the id is known, and begin nothing.
inline constexpr std::uint8_t kAskOnly = 1;

/// Which news of the running call home wants.
struct NewsWanted {
    bool progress = false;
    std::string_view log_level;  ///< as in FrameSink; empty: no log messages
};

/// The call of a FORWARD as the owner runs it. It keeps what its `call` views, so it stays where it
/// is.
class ForwardedCall {
public:
    /// `body` is that of a FORWARD; its head is read by parse_forward_head().
    static Result<std::unique_ptr<ForwardedCall>> parse(std::string body);
    core::Call& call() { return call_; }
    const core::PrincipalRef& principal() const { return principal_; }
    const NewsWanted& wanted() const { return wanted_; }

private:
    explicit ForwardedCall(std::string body) : body_(std::move(body)) {}
    Result<void> read();

    const std::string body_;
    core::Call call_;
    core::PrincipalRef principal_;
    NewsWanted wanted_;
};
std::string forward_to_wire(const ForwardHead& head, const core::Call& call,
                            const core::Principal& principal, const NewsWanted& wanted = {});
Result<ForwardHead> parse_forward_head(std::string_view body);

/// TAKEN, owner to home: the forward is known here and has no end yet.
struct Taken {
    ForwardId id;
};
std::string to_wire(const Taken& taken);
Result<Taken> parse_taken(std::string_view body);

enum class Refusal : std::uint8_t {
    kGone = 1,  ///< the link is not here
    kStale = 2,  ///< the beat that it names is too old
    kFull = 3,
    kUnreadable = 4,  ///< it is no call
};
/// REFUSED, owner to home: this process has not begun it and will not begin this copy, nor an
/// earlier one.
struct Refused {
    ForwardId id;
    Refusal why = Refusal::kGone;
    std::uint64_t copy = 0;  ///< the sequence number of the FORWARD that it answers
};
std::string to_wire(const Refused& refused);
Result<Refused> parse_refused(std::string_view body);

/// RESULT, owner to home: how it ended.
struct ResultHead {
    ForwardId id;
    /// The call certainly had no effect by this process, so a repeat may run
    bool left_no_trace = false;
};
struct ReceivedResult {
    ResultHead head;
    core::CallEnd end;  ///< its tool is a placeholder, or null; it owns all that it has
};
std::string to_wire(const ResultHead& head, const core::CallEnd& end);
Result<ReceivedResult> parse_result(std::string_view body);

/// ACK, home to owner: these ends have arrived.
struct Ack {
    std::vector<ForwardId> ids;
};
std::string to_wire(const Ack& ack);
Result<Ack> parse_ack(std::string_view body);

/// CANCEL, home to owner.
struct Cancel {
    ForwardId id;
    std::uint64_t beat = 0;  ///< as in a FORWARD
};
std::string to_wire(const Cancel& cancel);
Result<Cancel> parse_cancel(std::string_view body);

/// BEAT, to all: this process lives.
struct Beat {
    std::uint64_t number = 0;
};
std::string to_wire(const Beat& beat);
Result<Beat> parse_beat(std::string_view body);

/// HINT, to all: what the nodes share in the database has changed, and what it says counts even
/// where that is not reached. A hint that is lost is made up for by looking.
struct Hint {
    static constexpr std::size_t kMostRevoked = 256;
    std::vector<std::string> revoked;  ///< ids of credentials, kMostRevoked at most
    bool events = false;  ///< events were appended, and nothing else is said
};
std::string to_wire(const Hint& hint);
Result<Hint> parse_hint(std::string_view body);

}  // namespace crab::fleet
