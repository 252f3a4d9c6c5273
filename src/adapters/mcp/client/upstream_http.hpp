#pragma once

#include "adapters/mcp/client/upstream_connector.hpp"
#include "adapters/mcp/client/upstream_url.hpp"
#include "adapters/mcp/wire/event_stream.hpp"
#include "net/http/http_client.hpp"
#include "net/http/name_lookups.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace crab::mcp {

/// The body of an HTTP answer of an upstream: events as they come, or a text of limited size.
class UpstreamBody final : public net::HttpBodySink {
public:
    /// Gets each part of an event stream, during the call; false: no more is wanted.
    using OnPart = std::function<bool(const StreamPart& part)>;
    /// `on_head`, if given, is called when the answer has begun.
    UpstreamBody(std::size_t max_message, OnPart on_part, std::function<void()> on_head = {})
        : max_message_(max_message), on_part_(std::move(on_part)), on_head_(std::move(on_head)) {}

    int status() const { return status_; }
    bool good() const { return status_ >= 200 && status_ < 300; }
    bool is_stream() const { return stream_.has_value(); }
    const std::optional<EventStream>& stream() const { return stream_; }
    bool oversize() const { return oversize_; }
    const std::string& text() const { return text_; }  ///< of what is no stream
    /// The first value of that header, in lower case; empty: none.
    std::string header(std::string_view name) const;
    std::optional<Milliseconds> retry_after(SystemTime now) const { return head_.retry_after(now); }
    /// An answer that does not count: as before any.
    void forget();
    /// What was wanted is there: the rest may come within a short time, or not.
    void finish() { finished_ = true; }

private:
    bool takes(const net::HttpReply& head) override;
    bool on_body(std::string_view piece) override;
    Milliseconds patience() const override;

    const std::size_t max_message_;
    const OnPart on_part_;
    const std::function<void()> on_head_;
    net::HttpReply head_;
    int status_ = 0;
    std::optional<EventStream> stream_;
    std::string text_;
    bool oversize_ = false;
    bool finished_ = false;
};

/// What HTTP requests to one upstream share: its address, its credential, its connections. Follows
/// no redirects. Used on one event loop; close() before destruction.
class UpstreamHttp {
public:
    struct Services {
        net::EventLoop& loop;
        net::NameLookups& names;
        std::shared_ptr<net::TlsContext> tls;  ///< of `https://`, unless a server has its own
        Authorizer* authorizer = nullptr;      ///< null: `headers` are all there is
    };
    struct Request {
        std::string_view method;
        std::string_view target{};  ///< of the configured URL unless given
        std::string_view body{};
        net::OwnedHeaders headers{};  ///< beside the configured ones
    };

    /// For a notification or an answer to be taken, and how many of them may be on their way.
    static constexpr Milliseconds kPostTime{30'000};
    static constexpr std::size_t kMostPosts = 256;

    UpstreamHttp(Services services, UpstreamOptions options, net::HttpUrl url);

    /// One request, and once more with another credential when the first was refused. Failures are
    /// those of net::HttpClient, and those of the authorizer with `written` false.
    Task<net::HttpResult> send(Request request, UpstreamBody& body, Deadline deadline);

    const net::HttpUrl& url() const { return url_; }
    const UpstreamOptions& options() const { return options_; }
    net::EventLoop& loop() const { return services_.loop; }
    /// Ends what is under way; later requests still go.
    void abort() { client_.abort(); }
    void close() { client_.close(); }

private:
    const Services services_;
    const UpstreamOptions options_;
    const net::HttpUrl url_;
    const std::string target_;
    net::HttpClient client_;
};

/// What an answer that is no success says of its request: `unrun` means certainly not run.
struct HttpRefusal {
    Error error;
    bool unrun = true;
};
HttpRefusal http_refusal(const UpstreamBody& body, SystemTime now);

}  // namespace crab::mcp
