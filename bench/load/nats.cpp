#include "load/nats.hpp"

#include "load/payload.hpp"
#include "load/stream.hpp"

#include <unistd.h>

#include <array>
#include <charconv>
#include <stdexcept>

namespace crab::bench {
namespace {

constexpr std::string_view kSubject = "bench.echo";

void append_publish(std::string& out, std::string_view subject, std::string_view reply,
                    std::string_view payload) {
    std::array<char, 8> digits;
    const auto end = std::to_chars(digits.begin(), digits.end(), payload.size());
    out.append("PUB ").append(subject).push_back(' ');
    if (!reply.empty()) out.append(reply).push_back(' ');
    out.append(digits.data(), end.ptr).append("\r\n").append(payload).append("\r\n");
}

}  // namespace

/// One connection: handshake, then `MSG subject sid [reply] size` as messages
/// (https://docs.nats.io, client protocol).
class NatsCallers::Client : public Connection {
public:
    Client(Loop& loop, const Address& server, std::string_view subscription) : Connection(loop) {
        Stream stream(server, false);
        stream.write(
            "CONNECT "
            "{\"verbose\":false,\"pedantic\":false,\"lang\":\"c++\",\"version\":\"1\",\"protocol\":"
            "1}\r\nSUB " +
            std::string(subscription) + " 1\r\nPING\r\n");
        std::string in;
        std::size_t pong = 0;
        while ((pong = in.find("PONG\r\n")) == std::string::npos) stream.read_more(in);
        open(stream.release());
    }

private:
    virtual void on_message(std::string_view subject, std::string_view reply,
                            std::string_view payload) = 0;

    std::size_t on_input(std::span<char> bytes) override {
        const std::string_view all(bytes.data(), bytes.size());
        std::size_t used = 0;
        for (std::size_t end; (end = all.find("\r\n", used)) != std::string_view::npos;) {
            const auto line = all.substr(used, end - used);
            if (!line.starts_with("MSG ")) {
                if (line == "PING") outgoing().append("PONG\r\n");
                if (line.starts_with("-ERR"))
                    throw std::runtime_error("nats-server: " + std::string(line));
                used = end + 2;
                continue;
            }
            const auto size_at = line.rfind(' ') + 1;
            std::size_t size = 0;
            std::from_chars(line.begin() + size_at, line.end(), size);
            if (all.size() < end + 2 + size + 2) break;
            const auto subject = line.substr(4, line.find(' ', 4) - 4);
            const auto sid_end = line.find(' ', 4 + subject.size() + 1);
            const auto reply = sid_end + 1 < size_at
                                   ? line.substr(sid_end + 1, size_at - sid_end - 2)
                                   : std::string_view{};
            on_message(subject, reply, all.substr(end + 2, size));
            used = end + 2 + size + 2;
        }
        return used;
    }

    void on_closed() override { throw std::runtime_error("nats-server closed a connection"); }
};

class NatsCallers::Caller final : public Client {
public:
    Caller(Loop& loop, const Address& server, const std::string& inbox, Answers& answers)
        : Client(loop, server, inbox + "*"), inbox_(inbox), answers_(answers) {}

    void call(std::size_t lane) {
        append_publish(outgoing(), kSubject, inbox_ + std::to_string(lane), kArguments);
    }

private:
    void on_message(std::string_view subject, std::string_view, std::string_view payload) override {
        std::size_t lane = 0;
        std::from_chars(subject.begin() + inbox_.size(), subject.end(), lane);
        answers_.on_answer(lane, payload.size() == kResult.size() ? std::string_view{} : payload);
    }

    std::string inbox_;
    Answers& answers_;
};

class NatsCallers::Responder final : public Client {
public:
    Responder(Loop& loop, const Address& server) : Client(loop, server, kSubject) {}

private:
    void on_message(std::string_view, std::string_view reply, std::string_view) override {
        append_publish(outgoing(), reply, {}, kResult);
    }
};

NatsCallers::NatsCallers(Loop& loop, const Address& server, std::size_t connections,
                         Answers& answers)
    : responder_(std::make_unique<Responder>(loop, server)) {
    for (std::size_t i = 0; i < connections; ++i) {
        const std::string inbox =
            "_INBOX." + std::to_string(getpid()) + "x" + std::to_string(i) + ".";
        callers_.push_back(std::make_unique<Caller>(loop, server, inbox, answers));
    }
}

NatsCallers::~NatsCallers() = default;

void NatsCallers::start(std::size_t lane) { callers_[lane % callers_.size()]->call(lane); }

}  // namespace crab::bench
