#include "load/modes.hpp"
#include "load/payload.hpp"

#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

namespace crab::bench {
namespace {

constexpr std::size_t kPage = 500;
constexpr std::string_view kOpened =
    R"({"protocolVersion":"2025-11-25","capabilities":{"tools":{}},)"
    R"("serverInfo":{"name":"bench","version":"1"}})";

/// The value after `"member":`, to the next comma or brace; empty if there is none.
std::string_view value_of(std::string_view message, std::string_view member) {
    const auto at = message.find(member);
    if (at == std::string_view::npos) return {};
    const auto start = at + member.size();
    const auto end = message[start] == '"' ? message.find('"', start + 1) + 1
                                           : message.find_first_of(",}", start);
    return message.substr(start, end - start);
}

/// kResult as the text of a block.
std::string call_result() {
    std::string out = R"({"content":[{"type":"text","text":")";
    for (const char each : kResult) {
        if (each == '"') out += '\\';
        out += each;
    }
    return out + R"("}]})";
}

std::string tool(const std::string& name) {
    return R"({"name":")" + name +
           R"(","description":"Sets the heating of one room and says what will happen.",)"
           R"("inputSchema":)" +
           std::string(kParameters) + "}";
}

/// Pages of the tools; the cursor is the number of the first.
class ToolPages {
public:
    explicit ToolPages(std::size_t more) : count_(more + 1) {}

    std::string page(std::string_view cursor) const {
        std::size_t first = 0;
        if (cursor.size() > 2) std::from_chars(cursor.data() + 1, cursor.end() - 1, first);
        std::string out = R"({"tools":[)";
        std::size_t i = first;
        for (; i < count_ && i < first + kPage; ++i)
            out += (i == first ? "" : ",") + tool(i == 0 ? "echo" : "tool" + std::to_string(i));
        out += "]";
        if (i < count_) out += R"(,"nextCursor":")" + std::to_string(i) + "\"";
        return out + "}";
    }

private:
    std::size_t count_;
};

class Server {
public:
    explicit Server(std::size_t tools) : pages_(tools) {}

    /// Appends the answer to one line, if it is a request.
    void answer(std::string_view line, std::string& out) const {
        const auto id = value_of(line, R"("id":)");
        const auto method = value_of(line, R"("method":)");
        if (id.empty() || method.empty()) return;
        const std::string head = R"({"jsonrpc":"2.0","id":)" + std::string(id);
        if (method == R"("tools/call")")
            out += head + R"(,"result":)" + result_;
        else if (method == R"("tools/list")")
            out += head + R"(,"result":)" + pages_.page(value_of(line, R"("cursor":)"));
        else if (method == R"("initialize")")
            out += head + R"(,"result":)" + std::string(kOpened);
        else if (method == R"("ping")")
            out += head + R"(,"result":{})";
        else
            out += head + R"(,"error":{"code":-32601,"message":"unknown method"})";
        out += "}\n";
    }

private:
    ToolPages pages_;
    std::string result_ = call_result();
};

void write_all(std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t written = write(STDOUT_FILENO, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) throw std::system_error(errno, std::generic_category(), "write");
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
}

}  // namespace

void run_mcp_server(Options options) {
    const Server server(options.count("tools", 0));
    options.refuse_others();
    std::string input, output;
    char bytes[65536];
    for (ssize_t got = 0; (got = read(STDIN_FILENO, bytes, sizeof bytes)) > 0;) {
        input.append(bytes, static_cast<std::size_t>(got));
        std::size_t used = 0;
        for (auto end = input.find('\n'); end != std::string::npos; end = input.find('\n', used)) {
            server.answer(std::string_view(input).substr(used, end - used), output);
            used = end + 1;
        }
        input.erase(0, used);
        write_all(output);
        output.clear();
    }
}

}  // namespace crab::bench
