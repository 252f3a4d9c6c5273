#include "adapters/mcp/server/post_answer.hpp"

#include "adapters/mcp/wire/event_stream.hpp"
#include "net/codec/http_text.hpp"
#include "net/codec/sse.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace crab::mcp {

/// `q=0` is not looked at: no client of MCP sends it.
Accepted Accepted::read(std::string_view accept) {
    if (accept == "application/json, text/event-stream") return {};  // as nearly all write it
    const std::string text = lower_case(accept);
    if (text.find_first_not_of(" \t") == std::string::npos || text.contains("*/*")) return {};
    return {.json = text.contains(kJsonType) || text.contains("application/*"),
            .events = text.contains(kEventsType) || text.contains("text/*")};
}

void start_events(net::HttpExchange& exchange, std::string_view session_header) {
    const std::array<net::HttpHeader, 3> headers{{{"Cache-Control", "no-cache, no-transform"},
                                                  {"X-Accel-Buffering", "no"},
                                                  {"Mcp-Session-Id", session_header}}};
    exchange.start_stream(200, kEventsType,
                          std::span(headers).first(session_header.empty() ? 2 : 3));
    std::string comment;
    net::append_sse_ping(comment);
    exchange.write_chunk(comment);
}

PostAnswer::PostAnswer(net::HttpExchange& exchange, Options options)
    : exchange_(exchange), options_(std::move(options)) {
    if (options_.elsewhere) {
        stream_ = options_.session->shared_events();
        streams_ = left_ = true;
    } else if (options_.accepted.events)
        exchange_.loop().timers().arm(*this, exchange_.loop().now() + options_.stream_after);
}

bool PostAnswer::stream_now() {
    if (streams_ || !options_.accepted.events) return streams_;
    streams_ = true;
    if (options_.session) stream_ = options_.session->open_stream();
    const bool primes = stream_ && features_of(options_.session->facts().revision).primes_streams;
    if (primes && options_.poll_after > Milliseconds(0)) {
        poll_at_ = exchange_.loop().now() + options_.poll_after;
        exchange_.close_when_done();  // who resumes must not wait on a connection that is busy here
    }
    start_events(exchange_, options_.session_header);
    arm();
    if (stream_) {
        reader_ = stream_->attach(nullptr);
        if (primes) stream_->add_priming();
        write_taken();
    }
    return true;
}

void PostAnswer::arm() {
    const SteadyTime now = exchange_.loop().now();
    exchange_.loop().timers().arm(*this, std::min<Deadline>(now + options_.keepalive, poll_at_));
}

/// Polling: the client comes again by itself for the rest.
void PostAnswer::leave() {
    left_ = true;
    stream_->detach(reader_);
    exchange_.write_chunk("retry: 1000\n\n");
    exchange_.end_stream();
}

void PostAnswer::on_expired() {
    if (!streams_) {
        stream_now();
        return send_early();
    }
    if (exchange_.loop().now() >= poll_at_) return leave();
    std::string comment;
    net::append_sse_ping(comment);
    exchange_.write_chunk(comment);
    arm();
}

void PostAnswer::write_taken() {
    const SessionStream::Taken taken = stream_->take(reader_, written_);
    written_ = taken.last;
    if (!taken.bytes.empty()) exchange_.write_chunk(taken.bytes);
}

void PostAnswer::send_event(std::string_view message) {
    if (stream_) {
        if (!options_.elsewhere) options_.session->make_room_for(message.size());
        stream_->add(message);
        return left_ ? void() : write_taken();
    }
    std::string event;
    static_cast<void>(append_message_event(event, {}, message));  // without an id all is well
    exchange_.write_chunk(event);
}

bool PostAnswer::notify(std::string_view message) {
    if (!stream_now()) return false;
    send_early();
    send_event(message);
    return true;
}

/// What there is of the answer so far.
void PostAnswer::send_early() {
    if (!response_.empty()) send_event(std::exchange(response_, {}));
    for (const std::string& each : std::exchange(responses_, {})) send_event(each);
}

void PostAnswer::respond(std::string message, int status) {
    responded_ += message.size();
    if (streams_) return send_event(message);
    status_ = status;
    if (options_.is_batch)
        responses_.push_back(std::move(message));
    else
        response_ = std::move(message);
}

void PostAnswer::end_as_json() {
    if (options_.is_batch) {
        exchange_.respond(200, kJsonType, fmt::format("[{}]", fmt::join(responses_, ",")));
    } else if (options_.session_header.empty()) {
        exchange_.respond(status_, kJsonType, response_);
    } else {
        exchange_.respond(status_, kJsonType, response_,
                          {{"Mcp-Session-Id", options_.session_header}});
    }
    exchange_.loop().give_buffer(std::move(response_));
}

void PostAnswer::end() {
    if (options_.elsewhere) return;
    if (!streams_ && options_.accepted.json && has_response()) {
        disarm();
        return end_as_json();
    }
    if (!stream_now()) {  // a request that was cancelled, and a client without events
        disarm();
        return exchange_.respond(202, "", "");
    }
    send_early();
    disarm();
    if (stream_) stream_->close(exchange_.loop().now());
    if (!left_) exchange_.end_stream();
}

}  // namespace crab::mcp
