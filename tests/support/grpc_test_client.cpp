// A program of crab::ToolClient for tests: one JSON object per line on standard input is what to
// do, one on standard output what came.
//
//   usage: grpc_test_client ADDRESS [TOKEN] [CA]
//   {"do":"call","tool":"echo","args":"{}","options":{"call_id","timeout_ms","idempotent",
//       "key","provider_id","network","stop_after"}}
//   {"do":"stream", …}   {"do":"cancel","call_id":"c1"}   {"do":"list"}
//
// The answer to call and stream:
// {"status","call_id","result","content_type","summary","code","message","retryable","replayed",
//  "frames"}.
#include <crab/tool_client.hpp>

#include <chrono>
#include <cstdio>
#include <iostream>
#include <map>
#include <string>

namespace {

/// The texts and numbers of a flat JSON object; enough for lines that our own tests write.
std::map<std::string, std::string> members_of(const std::string& line) {
    std::map<std::string, std::string> members;
    std::string key, word;
    bool in_text = false, has_key = false;
    const auto put = [&] {
        if (has_key) members[key] = word;
        key = word = {};
        has_key = false;
    };
    for (std::size_t i = 0; i < line.size(); ++i) {
        const char c = line[i];
        if (in_text) {
            if (c == '\\')
                word += line[++i];
            else if (c == '"')
                in_text = false;
            else
                word += c;
        } else if (c == '"') {
            in_text = true;
        } else if (c == ':') {
            key = std::move(word);
            word = {};
            has_key = true;
        } else if (c == ',' || c == '}') {
            put();
        } else if (c != '{' && c != ' ') {
            word += c;
        }
    }
    return members;
}

std::string quoted(const std::string& text) {
    std::string out = "\"";
    for (const char c : text) {
        char escaped[8];
        std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned char>(c));
        out += (static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\' ||
                static_cast<unsigned char>(c) > 0x7e)
                   ? std::string(escaped)
                   : std::string(1, c);
    }
    return out + "\"";
}

const char* name_of(crab::CallResult::Status status) {
    switch (status) {
        case crab::CallResult::Status::kOk: return "ok";
        case crab::CallResult::Status::kError: return "error";
        case crab::CallResult::Status::kRetryableError: return "retryable_error";
        case crab::CallResult::Status::kTimeout: return "timeout";
        case crab::CallResult::Status::kNoAnswer: return "no_answer";
    }
    return "";
}

void say(const crab::CallResult& result, std::size_t frames) {
    std::cout << "{\"status\":\"" << name_of(result.status)
              << "\",\"call_id\":" << quoted(result.call_id)
              << ",\"result\":" << quoted(result.result)
              << ",\"content_type\":" << quoted(result.content_type)
              << ",\"summary\":" << quoted(result.summary)
              << ",\"code\":" << quoted(result.error.code)
              << ",\"message\":" << quoted(result.error.message)
              << ",\"retryable\":" << (result.error.retryable ? "true" : "false")
              << ",\"replayed\":" << (result.replayed ? "true" : "false")
              << ",\"frames\":" << frames << "}" << std::endl;
}

crab::CallOptions options_of(std::map<std::string, std::string>& line) {
    crab::CallOptions options;
    options.call_id = line["call_id"];
    options.idempotency_key = line["key"];
    options.provider_id = line["provider_id"];
    options.policy.network_policy = line["network"];
    options.idempotent = line["idempotent"] == "true";
    if (!line["timeout_ms"].empty())
        options.timeout = std::chrono::milliseconds(std::stoll(line["timeout_ms"]));
    return options;
}

void stream(crab::ToolClient& client, std::map<std::string, std::string>& line) {
    const std::size_t stop_after =
        line["stop_after"].empty() ? SIZE_MAX : std::stoul(line["stop_after"]);
    std::size_t frames = 0;
    const crab::StreamCallbacks callbacks{.on_frame =
                                              [&](const crab::ToolFrame& frame) {
                                                  ++frames;
                                                  std::cout << "{\"frame\":" << frame.number
                                                            << ",\"data\":" << quoted(frame.data)
                                                            << "}" << std::endl;
                                                  return frames < stop_after;
                                              },
                                          .on_progress = {}};
    const crab::CallResult result =
        client.call_stream(line["tool"], line["args"], callbacks, options_of(line));
    say(result, frames);
}

void cancel(crab::ToolClient& client, const std::string& call_id) {
    const auto said = client.cancel(call_id);
    const char* word = said ? (*said == crab::CancelStatus::kCancelling ? "cancelling"
                               : *said == crab::CancelStatus::kFinished ? "finished"
                                                                        : "not_found")
                            : "error";
    std::cout << "{\"status\":\"" << word << "\"}" << std::endl;
}

void list(crab::ToolClient& client) {
    const auto tools = client.list();
    std::cout << "{\"tools\":[";
    for (std::size_t i = 0; tools && i < tools->size(); ++i)
        std::cout << (i ? "," : "") << quoted((*tools)[i].name);
    std::cout << "],\"code\":" << quoted(tools ? "" : tools.error().code) << "}" << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) return 2;
    crab::ToolClientOptions options;
    if (argc > 3) options.ca_file = argv[3];
    options.user_agent = "grpc-test-client/7";
    options.interceptors.push_back([](crab::CallAttempt& attempt) {
        attempt.metadata.emplace_back("x-attempt", std::to_string(attempt.number));
    });
    crab::ToolClient client(argv[1], argc > 2 ? argv[2] : "", options);
    for (std::string text; std::getline(std::cin, text);) {
        auto line = members_of(text);
        if (line["do"] == "call") say(client.call(line["tool"], line["args"], options_of(line)), 0);
        if (line["do"] == "stream") stream(client, line);
        if (line["do"] == "cancel") cancel(client, line["call_id"]);
        if (line["do"] == "list") list(client);
    }
}
