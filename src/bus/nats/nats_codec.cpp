#include "bus/nats/nats_codec.hpp"

#include <algorithm>
#include <charconv>
#include <vector>

#include <fmt/format.h>

namespace crab::bus::nats {
namespace {

constexpr std::string_view kEnd = "\r\n";
constexpr std::string_view kHeaderVersion = "NATS/1.0";

std::unexpected<Error> broken(const char* what) { return fail(ErrorCode::kInvalidArgs, what); }

bool is_blank(char c) { return c == ' ' || c == '\t'; }

/// The words of a line; more than seven do not count.
std::vector<std::string_view> words_of(std::string_view line) {
    std::vector<std::string_view> words;
    while (!line.empty() && words.size() < 7) {
        const auto begin = std::ranges::find_if_not(line, is_blank);
        const auto end = std::find_if(begin, line.end(), is_blank);
        if (begin != end) words.emplace_back(begin, end);
        line = {end, line.end()};
    }
    return words;
}

template <class T>
std::optional<T> number_of(std::string_view text) {
    T value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

bool begins_with(std::string_view line, std::string_view word) {
    if (line.size() < word.size()) return false;
    return std::ranges::equal(line.substr(0, word.size()), word, [](char a, char b) {
        return (a >= 'a' && a <= 'z' ? static_cast<char>(a - 32) : a) == b;
    });
}

/// `NATS/1.0 503 …`: the number; 0 if there is none.
std::optional<int> status_of(std::string_view header) {
    if (!header.starts_with(kHeaderVersion) || !header.ends_with("\r\n\r\n")) return std::nullopt;
    std::string_view line = header.substr(kHeaderVersion.size());
    line = line.substr(0, line.find(kEnd));
    if (line.empty()) return 0;
    const auto words = words_of(line);
    if (line.front() != ' ' || words.empty()) return std::nullopt;
    return number_of<int>(words.front());
}

/// `MSG subject sid [reply] size`, `HMSG subject sid [reply] header size`: what is given and what
/// follows the line.
struct Announced {
    FromServer item{.kind = FromServer::Kind::kMessage};
    std::size_t header = 0, size = 0;
};
std::optional<Announced> announced_by(std::string_view line, bool has_header) {
    const auto words = words_of(line);
    const std::size_t least = has_header ? 5 : 4;
    if (words.size() != least && words.size() != least + 1) return std::nullopt;
    Announced announced;
    const auto subscription = number_of<std::uint64_t>(words[2]);
    const auto size = number_of<std::size_t>(words.back());
    const auto header = has_header ? number_of<std::size_t>(words[words.size() - 2])
                                   : std::optional<std::size_t>(0);
    if (!subscription || !size || !header || *header > *size) return std::nullopt;
    announced.item.subject = words[1];
    announced.item.subscription = *subscription;
    if (words.size() == least + 1) announced.item.reply = words[3];
    announced.header = *header;
    announced.size = *size;
    return announced;
}

Result<Read> read_message(std::string_view input, std::string_view line, bool has_header,
                          std::size_t most_payload) {
    auto announced = announced_by(line, has_header);
    if (!announced) return broken("the server announced a message that is none");
    if (announced->size > most_payload)
        return fail(ErrorCode::kOversize, "the server sends a longer message than is taken");
    const std::size_t begin = line.size() + kEnd.size();
    const std::size_t whole = begin + announced->size + kEnd.size();
    if (input.size() < whole) return Read{};
    if (input.substr(whole - kEnd.size(), kEnd.size()) != kEnd)
        return broken("the server's message does not end where it said");
    FromServer item = announced->item;
    if (has_header) {
        const auto status = status_of(input.substr(begin, announced->header));
        if (!status) return broken("the header of the server's message is none");
        item.status = *status;
    }
    item.payload = input.substr(begin + announced->header, announced->size - announced->header);
    return Read{.consumed = whole, .item = item};
}

void append_json_text(std::string& out, std::string_view text) {
    out += '"';
    for (const char c : text) {
        if (c == '"' || c == '\\' || static_cast<unsigned char>(c) < ' ')
            out += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
        else
            out += c;
    }
    out += '"';
}

}  // namespace

Result<Read> read_from_server(std::string_view input, std::size_t most_payload) {
    using Kind = FromServer::Kind;
    const std::size_t end = input.substr(0, kMostLine + kEnd.size()).find(kEnd);
    if (end == std::string_view::npos) {
        if (input.size() > kMostLine)
            return fail(ErrorCode::kOversize, "the server's line is long");
        return Read{};
    }
    const std::string_view line = input.substr(0, end);
    if (begins_with(line, "MSG ")) return read_message(input, line, false, most_payload);
    if (begins_with(line, "HMSG ")) return read_message(input, line, true, most_payload);
    Read read{.consumed = end + kEnd.size()};
    if (begins_with(line, "INFO ")) {
        read.item = {.kind = Kind::kInfo, .text = line.substr(5)};
    } else if (begins_with(line, "-ERR")) {
        read.item = {.kind = Kind::kError, .text = line.substr(std::min<std::size_t>(5, end))};
    } else if (begins_with(line, "PING") && end == 4) {
        read.item = {.kind = Kind::kPing};
    } else if (begins_with(line, "PONG") && end == 4) {
        read.item = {.kind = Kind::kPong};
    } else if (begins_with(line, "+OK") && end == 3) {
        read.item = {.kind = Kind::kOk};
    } else {
        return broken("the server said something that is not of NATS");
    }
    return read;
}

// Wherever it stands, also in an inner object: what looks like a demand is taken for one, and no
// password is sent.
bool requires_tls(std::string_view info) {
    constexpr std::string_view kMember = "\"tls_required\"";
    for (std::size_t at = info.find(kMember); at != std::string_view::npos;
         at = info.find(kMember, at + 1)) {
        std::string_view rest = info.substr(at + kMember.size());
        rest.remove_prefix(std::min(rest.find_first_not_of(" \t:"), rest.size()));
        if (rest.starts_with("true")) return true;
    }
    return false;
}

std::string connect_line(std::string_view name, std::string_view user, std::string_view password) {
    std::string line = R"(CONNECT {"verbose":false,"pedantic":false,"echo":false,"headers":true,)"
                       R"("no_responders":true,"protocol":1,"lang":"crab","name":)";
    append_json_text(line, name);
    if (!user.empty()) {
        append_json_text(line += R"(,"user":)", user);
        append_json_text(line += R"(,"pass":)", password);
    }
    return line += "}\r\n";
}

std::string subscribe_line(std::string_view subject, std::uint64_t subscription) {
    return fmt::format("SUB {} {}\r\n", subject, subscription);
}

void append_publish(std::string& out, std::string_view subject, std::string_view reply,
                    std::string_view payload) {
    out.append("PUB ").append(subject).append(" ");
    if (!reply.empty()) out.append(reply).append(" ");
    out.append(std::to_string(payload.size())).append(kEnd).append(payload).append(kEnd);
}

}  // namespace crab::bus::nats
