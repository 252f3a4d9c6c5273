#include "adapters/mcp/wire/message_writer.hpp"

#include "json/raw_parts.hpp"
#include "json/writer.hpp"

#include <cstring>

namespace crab::mcp {
namespace {

constexpr std::string_view kBefore = R"({"jsonrpc":"2.0","id":)", kBetween = R"(,"result":)";

json::Writer& open(json::Writer& writer) {
    return writer.begin_object().key("jsonrpc").string("2.0");
}

void method_and_params(json::Writer& writer, std::string_view method, std::string_view params) {
    writer.key("method").string(method);
    if (!params.empty()) writer.key("params").raw(params);
    writer.end_object();
}

}  // namespace

void append_request(std::string& out, const RequestId& id, std::string_view method,
                    std::string_view params) {
    json::Writer writer(out);
    open(writer).key("id").raw(id.json());
    method_and_params(writer, method, params);
}

void append_notification(std::string& out, std::string_view method, std::string_view params) {
    json::Writer writer(out);
    method_and_params(open(writer), method, params);
}

void make_response(std::string& result, const RequestId& id) {
    const std::string_view number = id.json();
    result.insert(0, kBefore.size() + number.size() + kBetween.size(), ' ');
    char* at = result.data();
    for (const std::string_view part : {kBefore, number, kBetween}) {
        std::memcpy(at, part.data(), part.size());
        at += part.size();
    }
    result += '}';
}

void append_opening(std::string& out, const RequestId& id) {
    out.append(kBefore).append(id.json()).append(kBetween);
}

void append_result(std::string& out, const RequestId& id, std::string_view result) {
    out.reserve(out.size() + kBefore.size() + id.json().size() + kBetween.size() + result.size() +
                1);
    append_opening(out, id);
    out.append(result) += '}';
}

void append_error(std::string& out, const RequestId* id, Era era, const RpcError& error) {
    json::Writer writer(out);
    open(writer);
    if (id != nullptr) writer.key("id").raw(id->json());
    if (id == nullptr && era == Era::kLegacy) writer.key("id").null();
    writer.key("error").begin_object().key("code").integer(error.code);
    writer.key("message").string_lossy(error.message);
    if (!error.data.empty()) writer.key("data").raw(error.data);
    writer.end_object().end_object();
}

void append_line(std::string& out, std::string_view message) {
    json::append_one_line(out, message);
    out += '\n';
}

}  // namespace crab::mcp
