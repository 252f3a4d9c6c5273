#pragma once

#include "agent/answer_builder.hpp"
#include "agent/model_client.hpp"
#include "agent/tool_names.hpp"
#include "base/secret.hpp"
#include "net/http/http_service.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace crab::agent {

/// Reads the events of one streamed answer.
class AnswerReader {
public:
    explicit AnswerReader(AnswerSink& sink, AnswerLimits limits = {}) : builder_(sink, limits) {}
    virtual ~AnswerReader() = default;
    /// One server-sent event. Errors: kOversize; kInternal for an invalid event; the error that the
    /// vendor reports in it.
    virtual Result<void> on_event(std::string_view type, std::string_view data) = 0;
    /// The body of an answer that is not a stream although one was requested. Errors: those of
    /// on_event().
    virtual Result<void> on_whole(std::string_view body) = 0;
    /// Whether the answer is complete; called when the stream has ended.
    virtual bool whole() const = 0;
    /// Whether the vendor has signalled the end of the answer.
    virtual bool finished() const = 0;
    bool heard() const { return builder_.heard; }
    /// The answer, with tool names as the model knows them.
    ModelAnswer take() { return std::move(builder_.answer); }

protected:
    AnswerBuilder builder_;
};

/// Parameters of a request other than the conversation.
struct ModelSettings {
    std::string model;
    /// 0: the vendor's own limit, or 8192 where it has to be said
    std::int64_t max_output_tokens = 0;
    /// The limit includes reasoning and is sent as max_completion_tokens (OpenAI's own servers)
    bool reasons_within_limit = false;
    std::int64_t thinking_tokens = 0;  ///< thinking budget, where the API has one; 0: none
    bool sees = false;  ///< it accepts pictures
    bool return_reasoning = false;  ///< it wants its reasoning of this turn returned
};

/// One vendor's API, as pure functions on text.
class ModelApi {
public:
    virtual ~ModelApi() = default;
    /// Below the base URL: `/chat/completions`.
    virtual std::string_view path() const = 0;
    virtual net::OwnedHeaders headers(const Secret<std::string>& key) const = 0;
    /// Appends the request's body, JSON.
    virtual void write(std::string& out, const ModelRequest& request, const ToolNames& names,
                       const ModelSettings& settings) const = 0;
    virtual std::unique_ptr<AnswerReader> reader(AnswerSink& sink) const = 0;
};

/// `error.message`, or `error`, or `message` of a refusal's JSON body, at most 300 bytes; empty
/// when there is none.
std::string refusal_text(std::string_view body);

/// Maps a vendor's refusal to an error; `text` is the result of refusal_text().
Error refusal(int status, std::string_view text);

}  // namespace crab::agent
