#pragma once

#include "agent/model_api.hpp"
#include "agent/model_client.hpp"
#include "agent/retry_rule.hpp"
#include "net/codec/http_url.hpp"
#include "net/http/http_client.hpp"
#include "net/http/name_lookups.hpp"
#include "net/tls/tls_context.hpp"

#include <atomic>
#include <memory>
#include <string>

namespace crab::agent {

/// One model behind HTTP, as it was configured; shared by all event loops.
struct HttpModel {
    std::string provider;                         ///< for people
    std::shared_ptr<const ModelApi> api;
    net::HttpUrl url;
    Secret<std::string> key;                      ///< empty: none is sent
    ModelSettings settings;
    std::shared_ptr<net::TlsContext> tls;         ///< null for plain HTTP
    RetryRule retry;
    /// Longest time without a byte; then the model counts as unreachable
    Milliseconds silence{120'000};
    /// Until when the event loop that asked it last tries it after all others; for operators
    mutable std::atomic<SteadyTime> rests_until{};
};

/// Sends requests to a model over HTTP and reads the answers as server-sent events. Names are
/// resolved again after a failed connection. Used on one loop; requests must have ended before its
/// destruction.
class HttpModelClient final : public ModelClient {
public:
    HttpModelClient(net::EventLoop& loop, net::NameLookups& names,
                    std::shared_ptr<const HttpModel> model)
        : loop_(loop), names_(names), model_(std::move(model)) {}
    ~HttpModelClient() override;

    std::string_view provider() const override { return model_->provider; }
    std::string_view model() const override { return model_->settings.model; }
    bool sees() const override { return model_->settings.sees; }
    void rest_until(SteadyTime until) override { model_->rests_until = until; }
    Task<Result<ModelAnswer>> ask(const ModelRequest& request, AnswerSink& sink,
                                  Deadline deadline) override;

private:
    struct Attempt;
    Task<Attempt> attempt(const net::HttpCall& call, AnswerSink& sink, Deadline deadline);
    Task<Result<std::shared_ptr<net::HttpClient>>> client(Deadline deadline);

    net::EventLoop& loop_;
    net::NameLookups& names_;
    const std::shared_ptr<const HttpModel> model_;
    std::shared_ptr<net::HttpClient> client_;   ///< null until addresses are known
};

}  // namespace crab::agent
