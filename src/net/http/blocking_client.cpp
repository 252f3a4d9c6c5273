#include "net/http/blocking_client.hpp"

#include "net/codec/http_body.hpp"
#include "net/codec/http_text.hpp"
#include "net/codec/http_write.hpp"
#include "net/http/http_reply.hpp"
#include "net/tls/tls_stream.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace crab::net {
namespace {

SteadyTime now() { return std::chrono::steady_clock::now(); }

std::unexpected<Error> lost(std::string_view what) {
    return fail(ErrorCode::kUnavailable,
                fmt::format("the connection to the server was lost: {}", what));
}

}  // namespace

/// One connected socket, read and written until a deadline.
class BlockingClient::Stream {
public:
    static Result<std::unique_ptr<Stream>> connect(const Endpoint& endpoint, const Options& options,
                                                   Deadline deadline);
    explicit Stream(int fd) : fd_(fd) {}
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    ~Stream() {
        if (tls_) tls_->shut_down();
        tls_.reset();
        ::close(fd_);
    }

    Result<void> write_all(std::string_view bytes, Deadline deadline, Milliseconds patience);
    /// Reads what there is, at least one byte; 0 at the end of the stream.
    Result<std::size_t> read_some(std::span<char> space, Deadline deadline, Milliseconds patience);
    /// Nothing has come since the last answer, not even the end.
    bool is_quiet() const {
        pollfd waiting{fd_, POLLIN, 0};
        return ::poll(&waiting, 1, 0) == 0;
    }
    std::string peer_certificate_der() const {
        return tls_ ? tls_->peer_certificate_der() : std::string();
    }

private:
    Result<void> wait(short events, Deadline deadline) const;
    Result<void> begin_tls(TlsContext& context, const std::string& server_name, Deadline deadline);
    Transfer transfer_of(ssize_t count, Transfer::Outcome blocked) const;

    int fd_;
    std::unique_ptr<TlsStream> tls_;
};

Result<void> BlockingClient::Stream::wait(short events, Deadline deadline) const {
    while (true) {
        int timeout = -1;
        if (deadline != kNoDeadline) {
            const auto left = std::chrono::ceil<Milliseconds>(deadline - now()).count();
            if (left <= 0) return fail(ErrorCode::kTimeout, "the server did not answer in time");
            timeout =
                static_cast<int>(std::min<std::int64_t>(left, std::numeric_limits<int>::max()));
        }
        pollfd waiting{fd_, events, 0};
        if (::poll(&waiting, 1, timeout) > 0) return {};
    }
}

Result<std::unique_ptr<BlockingClient::Stream>> BlockingClient::Stream::connect(
    const Endpoint& endpoint, const Options& options, Deadline deadline) {
    const auto addresses = resolve(endpoint);
    if (!addresses) return fail(addresses.error());
    const Deadline until = std::min(deadline, now() + options.connect_timeout);
    Error last{.code = ErrorCode::kUnavailable,
               .message = fmt::format("no answer from {}", endpoint.text())};
    for (const SocketAddress& address : *addresses) {
        const int fd = ::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (fd < 0) return fail(ErrorCode::kUnavailable, std::strerror(errno));
        auto stream = std::make_unique<Stream>(fd);
        int error = ::connect(fd, address.data(), address.size) == 0 ? 0 : errno;
        if (error == EINPROGRESS) {
            if (auto waited = stream->wait(POLLOUT, until); !waited) {
                last = {.code = ErrorCode::kTimeout,
                        .message = fmt::format("connecting to {} took too long", endpoint.text())};
                continue;
            }
            socklen_t size = sizeof error;
            ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
        }
        if (error != 0) {
            last.message =
                fmt::format("cannot connect to {}: {}", endpoint.text(), std::strerror(error));
            continue;
        }
        const int on = 1;
        if (!endpoint.is_unix()) ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        if (options.tls) {
            const std::string& name =
                options.server_name.empty() ? endpoint.host : options.server_name;
            if (auto secured = stream->begin_tls(*options.tls, name, until); !secured)
                return fail(std::move(secured.error()));
        }
        return stream;
    }
    return fail(std::move(last));
}

Result<void> BlockingClient::Stream::begin_tls(TlsContext& context, const std::string& server_name,
                                               Deadline deadline) {
    tls_ = std::make_unique<TlsStream>(context, fd_, server_name);
    while (true) {
        const Transfer::Outcome outcome = tls_->handshake().outcome;
        if (outcome == Transfer::Outcome::kDone) return {};
        if (outcome == Transfer::Outcome::kEnd || outcome == Transfer::Outcome::kBroken) {
            if (tls_->certificate_refused())
                return fail(ErrorCode::kForbidden,
                            "the server's certificate is not accepted: " + tls_->failure());
            return fail(ErrorCode::kUnavailable, "TLS handshake failed: " + tls_->failure());
        }
        if (auto waited =
                wait(outcome == Transfer::Outcome::kWantsRead ? POLLIN : POLLOUT, deadline);
            !waited)
            return waited;
    }
}

Transfer BlockingClient::Stream::transfer_of(ssize_t count, Transfer::Outcome blocked) const {
    if (count > 0) return {Transfer::Outcome::kDone, static_cast<std::size_t>(count)};
    if (count == 0) return {Transfer::Outcome::kEnd, 0};
    return {errno == EAGAIN || errno == EINTR ? blocked : Transfer::Outcome::kBroken, 0};
}

Result<void> BlockingClient::Stream::write_all(std::string_view bytes, Deadline deadline,
                                               Milliseconds patience) {
    while (!bytes.empty()) {
        const Transfer transfer =
            tls_ ? tls_->write(bytes)
                 : transfer_of(::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL),
                               Transfer::Outcome::kWantsWrite);
        if (transfer.outcome == Transfer::Outcome::kDone) {
            bytes.remove_prefix(transfer.bytes);
        } else if (transfer.outcome == Transfer::Outcome::kEnd ||
                   transfer.outcome == Transfer::Outcome::kBroken) {
            return lost("it took no more");
        } else if (auto waited =
                       wait(transfer.outcome == Transfer::Outcome::kWantsRead ? POLLIN : POLLOUT,
                            std::min(deadline, now() + patience));
                   !waited) {
            return waited;
        }
    }
    return {};
}

Result<std::size_t> BlockingClient::Stream::read_some(std::span<char> space, Deadline deadline,
                                                      Milliseconds patience) {
    while (true) {
        const Transfer transfer = tls_ ? tls_->read(space)
                                       : transfer_of(::recv(fd_, space.data(), space.size(), 0),
                                                     Transfer::Outcome::kWantsRead);
        if (transfer.outcome == Transfer::Outcome::kDone) return transfer.bytes;
        if (transfer.outcome == Transfer::Outcome::kEnd) return std::size_t{0};
        if (transfer.outcome == Transfer::Outcome::kBroken) return lost("it was reset");
        if (auto waited =
                wait(transfer.outcome == Transfer::Outcome::kWantsWrite ? POLLOUT : POLLIN,
                     std::min(deadline, now() + patience));
            !waited) {
            return fail(std::move(waited.error()));
        }
    }
}

std::optional<std::string_view> ClientResponse::find(std::string_view lower_case_name) const {
    for (const auto& [name, value] : headers) {
        if (equals_lower(name, lower_case_name)) return value;
    }
    return std::nullopt;
}

BlockingClient::BlockingClient(Endpoint endpoint, Options options)
    : endpoint_(std::move(endpoint)), options_(std::move(options)) {
    if (options_.host_header.empty())
        options_.host_header = endpoint_.is_unix() ? "localhost" : endpoint_.text();
}

BlockingClient::~BlockingClient() = default;

void BlockingClient::close() { stream_.reset(); }

std::string BlockingClient::peer_certificate_der() const {
    return stream_ ? stream_->peer_certificate_der() : std::string();
}

Result<ClientResponse> BlockingClient::send(const ClientRequest& request, Deadline deadline,
                                            const OnBody& on_body) {
    std::string bytes;
    std::vector<HttpHeader> headers;
    for (const auto& [name, value] : request.headers) headers.push_back({name, value});
    bool fit = true;
    if (request.next_piece) {
        fit = append_request_line(bytes, request.method, request.target, options_.host_header);
        for (const HttpHeader& header : headers)
            fit = fit && append_header(bytes, header.name, header.value);
        append_content_length(bytes, request.streamed_bytes);
        append_head_end(bytes);
    } else {
        fit = append_request(bytes, request.method, request.target, options_.host_header, {},
                             request.body, headers);
    }
    if (!fit) {
        return fail(ErrorCode::kInvalidArgs,
                    "method, target or a header is not fit for an HTTP request");
    }
    // the server has closed it, or says what nobody asked
    if (stream_ && !stream_->is_quiet()) close();
    const bool kept = stream_ != nullptr;
    bool answered = false;
    auto response = exchange(request, bytes, deadline, on_body, answered);
    // The server may have closed the kept connection just now. What was sent may still have been
    // handled, so only what changes nothing is sent again.
    const bool safe = request.method == "GET" || request.method == "HEAD";
    if (!response && response.error().code == ErrorCode::kUnavailable && kept && !answered &&
        safe) {
        response = exchange(request, bytes, deadline, on_body, answered);
    }
    // Whoever reads the error has several servers: it says which.
    const std::string at = endpoint_.text();
    if (!response && response.error().message.find(at) == std::string::npos)
        response.error().message = fmt::format("{}: {}", at, response.error().message);
    return response;
}

/// False when the server has answered in the middle.
Result<bool> BlockingClient::write_streamed(Stream& stream, const ClientRequest& request,
                                            Deadline deadline) {
    for (std::uint64_t left = request.streamed_bytes; left > 0;) {
        // under TLS that may be a session ticket
        if (!options_.tls && !stream.is_quiet()) return false;
        const std::string_view piece = request.next_piece().substr(0, left);
        if (piece.empty()) return fail(ErrorCode::kCancelled, "the request's body ended early");
        if (auto written = stream.write_all(piece, deadline, options_.io_timeout); !written)
            return fail(std::move(written.error()));
        left -= piece.size();
    }
    return true;
}

// long: one exchange in the order in which its bytes come
Result<ClientResponse> BlockingClient::exchange(const ClientRequest& request,
                                                std::string_view bytes, Deadline deadline,
                                                const OnBody& on_body, bool& answered) {
    if (!stream_) {
        auto connected = Stream::connect(endpoint_, options_, deadline);
        if (!connected) return fail(std::move(connected.error()));
        stream_ = std::move(*connected);
    }
    // Until the answer is whole and the connection good for another one, every way out closes it.
    std::unique_ptr<Stream> stream = std::move(stream_);
    const std::string& method = request.method;
    Result<bool> written = true;
    if (auto head_written = stream->write_all(bytes, deadline, options_.io_timeout); !head_written)
        written = fail(std::move(head_written.error()));
    if (written && request.next_piece) written = write_streamed(*stream, request, deadline);
    // A server that refuses a large body answers before it has read it and may take no more: its
    // answer counts.
    if (!written && written.error().code != ErrorCode::kUnavailable) return fail(written.error());
    ClientResponse response;
    std::string received;
    std::vector<char> space(64 * 1024);
    ResponseHead head;
    HeadOutcome outcome;
    int interim = 0;
    const auto read_more = [&]() -> Result<bool> {
        const auto count = stream->read_some(space, deadline, options_.io_timeout);
        if (!count) return fail(count.error());
        if (*count != 0) answered = true;
        received.append(space.data(), *count);
        return *count != 0;
    };
    while (true) {
        outcome = parse_response_head(received, head);
        if (outcome.kind == HeadOutcome::Kind::kRefused)
            return fail(ErrorCode::kInternal,
                        fmt::format("the answer is not HTTP: {}", outcome.reason));
        if (outcome.kind == HeadOutcome::Kind::kComplete) {
            if (head.status >= 200 || head.status == 101) break;
            if (++interim > kMostInterimAnswers)
                return fail(ErrorCode::kInternal, "the answer is not HTTP: too many 1xx");
            received.erase(0, outcome.consumed);
            continue;
        }
        auto more = read_more();
        if (!more) return fail(std::move(more.error()));
        if (!*more) return lost("it ended before the answer");
    }
    response.status = head.status;
    for (const HttpHeader header : head.headers)
        response.headers.emplace_back(header.name, header.value);
    const BodyFraming framing = head.framing(method);
    const bool keep_alive = head.keep_alive && framing != BodyFraming::kUntilClose &&
                            head.status != 101 && written.value_or(false);
    BodyLimits limits;
    limits.max_body_bytes =
        on_body ? std::numeric_limits<std::uint64_t>::max() : options_.max_body_bytes;
    BodyDecoder body(framing, head.content_length.value_or(0), limits);
    received.erase(0, outcome.consumed);
    std::string_view rest = received;
    while (true) {
        const BodyEvent event = body.next(rest);
        switch (event.kind) {
            case BodyEvent::Kind::kData:
                if (!on_body) {
                    response.body += event.data;
                } else if (!on_body(event.data)) {
                    return response;
                }
                continue;
            case BodyEvent::Kind::kEnd:
                if (keep_alive && rest.empty()) stream_ = std::move(stream);
                return response;
            case BodyEvent::Kind::kRefused:
                if (event.status == 413)
                    return fail(ErrorCode::kOversize, "the answer is larger than the limit");
                return fail(ErrorCode::kInternal,
                            fmt::format("the answer is not HTTP: {}", event.reason));
            case BodyEvent::Kind::kNeedMore: break;
        }
        received.clear();
        auto more = read_more();
        if (!more) return fail(std::move(more.error()));
        rest = received;
        if (*more) continue;
        if (body.finish()) return response;
        return lost("it ended in the middle of the answer");
    }
}

}  // namespace crab::net
