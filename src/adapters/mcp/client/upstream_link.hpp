#pragma once

#include "adapters/mcp/client/upstream_connector.hpp"
#include "adapters/mcp/client/upstream_conversation.hpp"
#include "adapters/mcp/client/upstream_opening.hpp"
#include "adapters/mcp/client/upstream_rounds.hpp"
#include "base/task/task_group.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace crab::mcp {

/// The session with an upstream of either era, once it is opened: repeats what may be repeated,
/// runs rounds of questions, waits for tasks.
class UpstreamLink final : public UpstreamSession,
                           public std::enable_shared_from_this<UpstreamLink> {
public:
    UpstreamLink(std::unique_ptr<UpstreamConversation> conversation, UpstreamOptions options,
                 UpstreamFacts facts);

    Task<Result<UpstreamReply>> request(UpstreamRequest request) override;
    void notify(std::string_view method, std::string_view params) override;
    FoundEra found() const override { return facts_.found; }
    const std::string& server_capabilities() const override { return facts_.capabilities; }
    const std::string& server_info() const override { return facts_.info; }
    const std::string& instructions() const override { return facts_.instructions; }
    bool is_open() const override { return conversation_->is_open(); }
    std::optional<SteadyTime> quiet_since() const override { return conversation_->quiet_since(); }
    std::string error_tail() const override { return conversation_->error_tail(); }
    void set_listener(UpstreamListener* listener) override {
        conversation_->set_listener(listener);
    }
    Task<void> close() override;

private:
    /// A request of the caller, and what its rounds have come to.
    struct RequestProgress {
        UpstreamRequest request;
        QuestionRound round;
        int rounds = 0;
    };
    Task<Result<UpstreamReply>> send_once(const UpstreamRequest& request,
                                          const QuestionRound& round);
    UpstreamConversation::Request to_send(const UpstreamRequest& request,
                                          const QuestionRound& round) const;
    HeaderLines headers_of(const UpstreamRequest& request) const;
    static core::LongCall* long_call_of(const UpstreamRequest& request);
    core::Inquirer::Answers answers_of(const UpstreamRequest& request) const;
    Task<Result<void>> next_round(RequestProgress& progress, std::string_view result);
    Task<Result<UpstreamReply>> wait_for_task(RequestProgress& progress, std::string created);
    Task<Result<UpstreamReply>> run_legacy_task(RequestProgress& progress);
    Task<Result<UpstreamReply>> follow_legacy_task(RequestProgress& progress, std::string id,
                                                   Milliseconds interval);
    Task<std::optional<Error>> pause_task(const UpstreamRequest& call, std::string_view id,
                                          Milliseconds interval);
    Task<std::optional<Result<UpstreamReply>>> poll_task(const UpstreamRequest& call,
                                                         std::string_view id, Milliseconds interval,
                                                         int& lost);
    Task<Result<void>> feed_task(RequestProgress& progress, std::string_view id,
                                 std::string_view state, std::vector<std::string>& asked);
    void cancel_task(std::string_view id);
    Task<void> want_log(const core::FrameSink* sink, Deadline deadline);
    Deadline from_now(Milliseconds time) const;

    bool runs_tools_as_tasks() const;

    const std::unique_ptr<UpstreamConversation> conversation_;
    const UpstreamOptions options_;
    const UpstreamFacts facts_;
    std::string log_level_;  ///< told to a legacy upstream
    TaskGroup tasks_;
};

}  // namespace crab::mcp
