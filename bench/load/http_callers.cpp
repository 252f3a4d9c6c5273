#include "load/http_callers.hpp"

#include <strings.h>

#include <charconv>
#include <cstring>
#include <optional>
#include <stdexcept>

namespace crab::bench {
namespace {

/// The value of a header whatever its case; empty when it is absent. `head` ends with a line break.
std::string_view header(std::string_view head, std::string_view name) {
    for (auto line = head.find("\r\n"); line != std::string_view::npos && line + 2 < head.size();
         line = head.find("\r\n", line + 2)) {
        const auto start = line + 2;
        if (head.size() < start + name.size() + 1 || head[start + name.size()] != ':') continue;
        if (strncasecmp(head.data() + start, name.data(), name.size()) != 0) continue;
        auto value = head.substr(start + name.size() + 1,
                                 head.find("\r\n", start) - start - name.size() - 1);
        while (value.starts_with(' ')) value.remove_prefix(1);
        return value;
    }
    return {};
}

/// How long the body of an answer is; nothing while that is not known yet. `rest` begins with it.
std::optional<std::size_t> length_of(std::string_view head, std::string_view rest) {
    if (const auto value = header(head, "Content-Length"); !value.empty()) {
        std::size_t length = 0;
        std::from_chars(value.begin(), value.end(), length);
        return length;
    }
    if (header(head, "Transfer-Encoding") != "chunked")
        throw std::runtime_error("an answer without a length: " + std::string(head));
    constexpr std::string_view kLast = "\r\n0\r\n\r\n";  // no JSON has line breaks like these
    const auto last = rest.find(kLast);
    if (last == std::string_view::npos) return std::nullopt;
    return last + kLast.size();
}

bool is_good(std::string_view body) {
    const auto has = [body](std::string_view part) {
        return body.find(part) != std::string_view::npos;
    };
    return has(R"("status":"ok")") || body == R"({"ok":true})" ||
           (has(R"("jsonrpc":"2.0")") && has(R"("result":{)") && !has(R"("isError":true)"));
}

}  // namespace

class HttpCallers::Caller final : public Connection {
public:
    Caller(HttpCallers& all, std::size_t lane) : Connection(all.loop_), all_(all), lane_(lane) {
        dial();
    }

    void dial() {
        waiting_ = false;
        open(connect_to(all_.server_));
    }

    void call(CallRequest& request) {
        waiting_ = true;
        request.append_to(outgoing());
    }

private:
    std::size_t on_input(std::span<char> bytes) override {
        const std::string_view text(bytes.data(), bytes.size());
        const auto end = text.find("\r\n\r\n");
        if (end == std::string_view::npos) return 0;
        const auto head = text.substr(0, end + 2);
        const auto length = length_of(head, text.substr(end + 4));
        if (!length) return 0;
        const std::size_t size = end + 4 + *length;
        if (text.size() < size) return 0;
        if (!waiting_)
            throw std::runtime_error("an answer nobody asked for: " +
                                     std::string(text.substr(0, size)));
        waiting_ = false;
        const auto body = text.substr(end + 4, *length);
        const bool good = head.starts_with("HTTP/1.1 200 ") && is_good(body);
        all_.answers_.on_answer(lane_, good ? std::string_view{} : text.substr(0, size));
        return size;
    }

    void on_closed() override {
        const bool failed = waiting_;
        dial();
        if (failed)
            all_.answers_.on_answer(lane_,
                                    "the server closed the connection in the middle of a call");
    }

    HttpCallers& all_;
    std::size_t lane_;
    bool waiting_ = false;
};

HttpCallers::HttpCallers(Loop& loop, const Address& server, std::size_t lanes,
                         std::vector<CallRequest> requests, Answers& answers)
    : loop_(loop), server_(server), requests_(std::move(requests)), answers_(answers) {
    for (std::size_t lane = 0; lane < lanes; ++lane)
        callers_.push_back(std::make_unique<Caller>(*this, lane));
}

HttpCallers::~HttpCallers() = default;

void HttpCallers::start(std::size_t lane) { start(lane, requests_[lane % requests_.size()]); }

void HttpCallers::start(std::size_t lane, CallRequest& request) { callers_[lane]->call(request); }

void HttpCallers::hang_up(std::size_t lane) { callers_[lane]->dial(); }

}  // namespace crab::bench
