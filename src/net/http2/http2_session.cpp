#include "net/http2/http2_session.hpp"

#include "base/log.hpp"

#include <algorithm>
#include <array>
#include <new>
#include <utility>

#include <nghttp2/nghttp2.h>

namespace crab::net {
namespace {

nghttp2_nv to_nv(std::string_view name, std::string_view value) {
    // nghttp2 copies both and changes neither.
    return {.name = reinterpret_cast<std::uint8_t*>(const_cast<char*>(name.data())),
            .value = reinterpret_cast<std::uint8_t*>(const_cast<char*>(value.data())),
            .namelen = name.size(),
            .valuelen = value.size(),
            .flags = NGHTTP2_NV_FLAG_NONE};
}

constexpr std::size_t kMostFields = 32;  // that we send in one section
constexpr Milliseconds kFarewell{2'000};  // for what was said before stop() to be taken

/// Fields in nghttp2's form, for one call of it.
struct FieldArray {
    explicit FieldArray(std::span<const HttpHeader> fields) {
        for (const HttpHeader& field : fields.first(std::min(fields.size(), kMostFields)))
            values[count++] = to_nv(field.name, field.value);
    }
    std::array<nghttp2_nv, kMostFields> values;
    std::size_t count = 0;
};

}  // namespace

/// What nghttp2 calls; none of it runs a coroutine, because nghttp2 must not be entered again from
/// here.
struct Http2Callbacks {
    static Http2Session& self(void* user) { return *static_cast<Http2Session*>(user); }
    static Http2Stream* find(nghttp2_session* session, std::int32_t id) {
        return static_cast<Http2Stream*>(nghttp2_session_get_stream_user_data(session, id));
    }

    static int on_begin_headers(nghttp2_session* session, const nghttp2_frame* frame, void* user) {
        if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
            return 0;
        auto stream = std::make_shared<Http2Stream>(self(user), self(user).loop_);
        stream->id_ = frame->hd.stream_id;
        nghttp2_session_set_stream_user_data(session, stream->id_, stream.get());
        self(user).add(std::move(stream));
        self(user).in_head_ = true;  // one at a time: nothing else may come between its frames
        self(user).set_deadline(self(user).limits_.head);
        return 0;
    }

    // parameters: nghttp2_on_header_callback has them
    static int on_header(nghttp2_session* session, const nghttp2_frame* frame,
                         const std::uint8_t* name, std::size_t name_size, const std::uint8_t* value,
                         std::size_t value_size, std::uint8_t, void* user) {
        Http2Stream* const stream = find(session, frame->hd.stream_id);
        if (stream == nullptr) return 0;
        Http2Fields& fields = is_trailer(*frame) ? stream->trailers_ : stream->fields_;
        if (fields.size() + name_size + value_size > self(user).limits_.header_list_bytes) {
            nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, stream->id_,
                                      NGHTTP2_ENHANCE_YOUR_CALM);
            return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
        }
        fields.add({reinterpret_cast<const char*>(name), name_size},
                   {reinterpret_cast<const char*>(value), value_size});
        return 0;
    }

    // An answer that is nothing but one section ("trailers only" in gRPC) is a head.
    static bool is_trailer(const nghttp2_frame& frame) {
        return frame.hd.type == NGHTTP2_HEADERS && frame.headers.cat == NGHTTP2_HCAT_HEADERS;
    }

    static int on_frame(nghttp2_session* session, const nghttp2_frame* frame, void* user) {
        Http2Session& owner = self(user);
        switch (frame->hd.type) {
            case NGHTTP2_PING:
            case NGHTTP2_SETTINGS:
            case NGHTTP2_PRIORITY:
                if ((frame->hd.flags & NGHTTP2_FLAG_ACK) == 0 && !owner.spend_control())
                    return calm(session);
                return 0;
            case NGHTTP2_DATA:
                if (frame->hd.length == 0 && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) == 0 &&
                    !owner.spend_control())
                    return calm(session);
                break;
            case NGHTTP2_HEADERS: owner.head_ended(); break;
            default: return 0;  // nghttp2 sees to them; a stream's end is on_stream_close()
        }
        Http2Stream* const stream = find(session, frame->hd.stream_id);
        if (stream == nullptr) return 0;
        if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) stream->ended_ = true;
        owner.note_ready(*stream);
        return 0;
    }

    static int calm(nghttp2_session* session) {
        nghttp2_session_terminate_session(session, NGHTTP2_ENHANCE_YOUR_CALM);
        return 0;
    }

    static int on_data(nghttp2_session* session, std::uint8_t, std::int32_t id,
                       const std::uint8_t* data, std::size_t size, void* user) {
        // The connection's window is given back at once: only the streams' windows hold anybody up.
        nghttp2_session_consume_connection(session, size);
        Http2Stream* const stream = find(session, id);
        if (stream == nullptr || stream->too_much_) return 0;
        if (!stream->hold(size)) {
            stream->too_much_ = true;
            nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, id, NGHTTP2_ENHANCE_YOUR_CALM);
            return 0;
        }
        stream->body_.append(reinterpret_cast<const char*>(data), size);
        stream->unreleased_ += size;
        self(user).note_ready(*stream);
        return 0;
    }

    static int on_stream_close(nghttp2_session* session, std::int32_t id, std::uint32_t code,
                               void* user) {
        if (Http2Stream* const stream = find(session, id))
            self(user).forget(*stream, static_cast<Http2Error>(code));
        return 0;
    }

    // Our half has ended; a client that still sends is told to stop (RFC 9113 section 8.1).
    static int on_frame_sent(nghttp2_session* session, const nghttp2_frame* frame, void* user) {
        if (self(user).role_ != Http2Session::Role::kServer ||
            (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) == 0)
            return 0;
        if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) return 0;
        const Http2Stream* const stream = find(session, frame->hd.stream_id);
        if (stream != nullptr && !stream->ended_)
            nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id,
                                      NGHTTP2_NO_ERROR);
        return 0;
    }

    // How much of a body goes into the next frame; the bytes themselves follow in send_data().
    // parameters: nghttp2_data_source_read_callback has them
    static ssize_t read_body(nghttp2_session* session, std::int32_t id, std::uint8_t*,
                             std::size_t most, std::uint32_t* flags, nghttp2_data_source* source,
                             void*) {
        Http2Stream& stream = *static_cast<Http2Stream*>(source->ptr);
        const std::size_t size = std::min(most, stream.queued_bytes());
        if (size == 0 && !stream.out_ended_) {
            stream.deferred_ = true;
            return NGHTTP2_ERR_DEFERRED;
        }
        *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
        if (size == stream.queued_bytes() && stream.out_ended_) {
            *flags |= NGHTTP2_DATA_FLAG_EOF;
            if (!stream.out_trailers_.empty()) {
                *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
                std::array<nghttp2_nv, kMostFields> trailers;
                std::size_t count = 0;
                for (const auto& [name, value] : stream.out_trailers_) {
                    if (count < kMostFields) trailers[count++] = to_nv(name, value);
                }
                nghttp2_submit_trailer(session, id, trailers.data(), count);
            }
        }
        return static_cast<ssize_t>(size);
    }

    static int send_data(nghttp2_session*, nghttp2_frame*, const std::uint8_t* head,
                         std::size_t size, nghttp2_data_source* source, void* user) {
        Http2Stream& stream = *static_cast<Http2Stream*>(source->ptr);
        std::string& out = self(user).connection_->out();
        out.append(reinterpret_cast<const char*>(head), 9);
        out.append(stream.out_, stream.framed_, size);
        stream.framed_ += size;
        if (stream.framed_ == stream.out_.size()) {
            stream.out_.clear();
            stream.framed_ = 0;
        } else if (stream.framed_ > 256 * 1024 && stream.framed_ > stream.out_.size() / 2) {
            // erase() would keep the memory
            stream.out_ = stream.out_.substr(std::exchange(stream.framed_, 0));
        }
        stream.untaken_.shrink_to(stream.out_.size());
        if (stream.changed_.waiting()) self(user).note_ready(stream);
        return 0;
    }

    static nghttp2_session_callbacks* table() {
        static nghttp2_session_callbacks* const made = [] {
            nghttp2_session_callbacks* callbacks = nullptr;
            if (nghttp2_session_callbacks_new(&callbacks) != 0) throw std::bad_alloc();
            nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
            nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
            nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
            nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
            nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
            nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, on_frame_sent);
            nghttp2_session_callbacks_set_send_data_callback(callbacks, send_data);
            return callbacks;
        }();
        return made;
    }

    static nghttp2_option* options() {
        static nghttp2_option* const made = [] {
            nghttp2_option* options = nullptr;
            if (nghttp2_option_new(&options) != 0) throw std::bad_alloc();
            nghttp2_option_set_no_auto_window_update(options, 1);
            nghttp2_option_set_no_closed_streams(options, 1);
            return options;
        }();
        return made;
    }
};

Http2Session::Http2Session(EventLoop& loop, Role role, const Http2Limits& limits, Events events)
    : loop_(loop),
      limits_(limits),
      events_(std::move(events)),
      account_(std::make_shared<Http2Account>(limits.held_bytes)),
      control_left_(limits.control_burst),
      control_at_(loop.now()),
      role_(role) {
    const int made = role == Role::kServer
                         ? nghttp2_session_server_new2(&session_, Http2Callbacks::table(), this,
                                                       Http2Callbacks::options())
                         : nghttp2_session_client_new2(&session_, Http2Callbacks::table(), this,
                                                       Http2Callbacks::options());
    if (made != 0) throw std::bad_alloc();
}

Http2Session::~Http2Session() { nghttp2_session_del(session_); }

void Http2Session::on_open(Connection& connection) {
    connection_ = &connection;
    const std::array<nghttp2_settings_entry, 4> settings{{
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, limits_.concurrent_streams},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, limits_.stream_window},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE,
         static_cast<std::uint32_t>(limits_.header_list_bytes)},
        {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
    }};
    // A server does not speak of push.
    nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings.data(),
                            role_ == Role::kClient ? settings.size() : settings.size() - 1);
    nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0,
                                          static_cast<std::int32_t>(limits_.connection_window));
    if (role_ == Role::kServer) set_deadline(limits_.first_request);
    if (events_.on_open) events_.on_open(*this);
    want_write();
}

std::size_t Http2Session::on_bytes(Connection& connection, std::span<char> bytes) {
    const ssize_t taken = nghttp2_session_mem_recv(
        session_, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    if (taken < 0) {
        log::debug("HTTP/2 connection given up",
                   {{"peer", connection.peer().text()},
                    {"reason", nghttp2_strerror(static_cast<int>(taken))}});
        connection.close_now(CloseReason::kLocal);
        return bytes.size();
    }
    run_ready();
    want_write();
    return bytes.size();
}

void Http2Session::want_write() {
    if (connection_ != nullptr) loop_.mark_dirty(*this);
}

void Http2Session::on_iteration_end() {
    if (connection_ == nullptr) return;
    const auto self = shared_from_this();
    std::string& out = connection_->out();
    while (connection_->queued_bytes() < limits_.queued_bytes) {
        const std::uint8_t* bytes = nullptr;
        const ssize_t size = nghttp2_session_mem_send(session_, &bytes);
        if (size < 0) return connection_->close_now(CloseReason::kLocal);
        if (size == 0) break;
        out.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
    }
    connection_->mark_dirty();
    run_ready();
    if (connection_ == nullptr) return;
    const bool over =
        nghttp2_session_want_read(session_) == 0 && nghttp2_session_want_write(session_) == 0;
    if (over || (finishing_ && streams_.empty() && nghttp2_session_want_write(session_) == 0))
        connection_->close_after_flush();
}

void Http2Session::on_drained(Connection&) {
    if (nghttp2_session_want_write(session_) != 0) want_write();
}

void Http2Session::on_end_of_stream(Connection& connection) {
    connection.close_now(CloseReason::kPeerClosed);
}

void Http2Session::on_closed(Connection&, CloseReason) {
    disarm();
    const auto self = shared_from_this();
    connection_ = nullptr;
    for (auto& [id, stream] : std::exchange(streams_, {})) {
        stream->session_ = nullptr;
        stream->gone_ = true;
        ready_.push_back(std::move(stream));
    }
    run_ready();
    if (events_.on_closed) events_.on_closed(*this);
    slot_.reset();
}

void Http2Session::note_ready(Http2Stream& stream) {
    if (!std::exchange(stream.ready_, true)) ready_.push_back(stream.shared_from_this());
}

// Runs those who serve streams about which there is news, now that nghttp2 has returned.
void Http2Session::run_ready() {
    if (std::exchange(running_ready_, true)) return;
    for (std::size_t i = 0; i < ready_.size(); ++i) {
        const std::shared_ptr<Http2Stream> stream = std::move(ready_[i]);
        stream->ready_ = false;
        if (!std::exchange(stream->announced_, true) && role_ == Role::kServer) {
            begin(stream);
        } else {
            stream->wake();
        }
    }
    ready_.clear();
    running_ready_ = false;
}

/// A stream is refused when too many connections of the same principal have some.
void Http2Session::begin(const std::shared_ptr<Http2Stream>& stream) {
    if (stream->gone_ || !events_.on_stream) return;
    if (slot_ && !slot_->work()) return stream->reset(Http2Error::kRefused);
    events_.on_stream(stream);
}

void Http2Session::add(std::shared_ptr<Http2Stream> stream) {
    disarm();
    if (connection_ != nullptr) stream->peer_ = connection_->peer();
    const std::int32_t id = stream->id_;
    streams_.emplace(id, std::move(stream));
}

void Http2Session::head_ended() {
    if (std::exchange(in_head_, false) && !finishing_) disarm();
}

void Http2Session::forget(Http2Stream& stream, Http2Error code) {
    const auto found = streams_.find(stream.id_);
    if (found == streams_.end()) return;
    const std::shared_ptr<Http2Stream> kept = std::move(found->second);
    streams_.erase(found);
    nghttp2_session_set_stream_user_data(session_, kept->id_, nullptr);
    kept->session_ = nullptr;
    kept->reset_code_ = code;
    if (!kept->announced_) head_ended();
    kept->gone_ = !(kept->ended_ && kept->out_ended_ && kept->queued_bytes() == 0);
    note_ready(*kept);
    if (streams_.empty() && slot_) slot_->rest();
    if (streams_.empty() && !finishing_ && role_ == Role::kServer) set_deadline(limits_.idle);
}

bool Http2Session::spend_control() {
    const SteadyTime now = loop_.now();
    const double seconds = std::chrono::duration<double>(now - control_at_).count();
    control_at_ = now;
    control_left_ = std::min<double>(limits_.control_burst,
                                     control_left_ + seconds * limits_.control_per_second) -
                    1;
    return control_left_ >= 0;
}

void Http2Stream::send_head(std::span<const HttpHeader> fields, Last last) {
    if (std::exchange(head_sent_, true) || session_ == nullptr) return;
    const FieldArray array(fields);
    nghttp2_data_provider body{.source = {.ptr = this}, .read_callback = Http2Callbacks::read_body};
    if (last == Last::kYes) out_ended_ = true;
    nghttp2_submit_response(session_->session_, id_, array.values.data(), array.count,
                            last == Last::kYes ? nullptr : &body);
    session_->want_write();
}

std::shared_ptr<Http2Stream> Http2Session::open(std::span<const HttpHeader> fields,
                                                Http2Stream::Last last) {
    if (!accepts_streams()) return nullptr;
    auto stream = std::make_shared<Http2Stream>(*this, loop_);
    const FieldArray array(fields);
    nghttp2_data_provider body{.source = {.ptr = stream.get()},
                               .read_callback = Http2Callbacks::read_body};
    stream->id_ =
        nghttp2_submit_request(session_, nullptr, array.values.data(), array.count,
                               last == Http2Stream::Last::kYes ? nullptr : &body, stream.get());
    if (stream->id_ < 0) return nullptr;
    stream->head_sent_ = true;
    if (last == Http2Stream::Last::kYes) stream->out_ended_ = true;
    add(stream);
    want_write();
    return stream;
}

bool Http2Session::accepts_streams() const {
    return connection_ != nullptr && !finishing_ &&
           nghttp2_session_check_request_allowed(session_) != 0;
}

void Http2Session::finish() {
    if (connection_ == nullptr || std::exchange(finishing_, true)) return;
    disarm();
    nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE,
                          nghttp2_session_get_last_proc_stream_id(session_), NGHTTP2_NO_ERROR,
                          nullptr, 0);
    want_write();
}

void Http2Session::cancel_streams() {
    std::vector<std::shared_ptr<Http2Stream>> served;
    for (const auto& [id, stream] : streams_) {
        if (!stream->out_ended_) served.push_back(stream);
    }
    for (const auto& stream : served) stream->cancel_.emit();
}

void Http2Session::stop() {
    if (connection_ == nullptr) return;
    finish();
    for (const auto& [id, stream] : streams_) {
        if (stream->out_ended_) continue;  // its answer is on the way
        nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
        stream->gone_ = true;
        note_ready(*stream);
    }
    set_deadline(kFarewell);
    run_ready();
    want_write();
}

void Http2Session::set_deadline(Milliseconds in) { loop_.timers().arm(*this, loop_.now() + in); }

void Http2Session::on_expired() {
    if (finishing_ || in_head_) {
        if (connection_ != nullptr)
            connection_->close_now(finishing_ ? CloseReason::kShutdown : CloseReason::kTimeout);
    } else if (streams_.empty()) {
        finish();
    }
}

}  // namespace crab::net
