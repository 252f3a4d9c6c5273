#include "adapters/sw4rm/reflection_service.hpp"

#include "adapters/sw4rm/descriptors.hpp"
#include "net/codec/protobuf.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace crab::sw4rm {
namespace {

using net::ProtobufReader;
using net::ProtobufWriter;

constexpr std::chrono::minutes kPatience{10};  // between two questions
constexpr std::uint64_t kNotFound = 5, kUnimplemented = 12;

/// A FileDescriptorProto, as far as it is asked for: field numbers of
/// google/protobuf/descriptor.proto.
struct File {
    std::string_view bytes, name, package;
    std::vector<std::string_view> imports;
    /// Full names; symbols has services, their methods and messages
    std::vector<std::string> services, symbols;
};

std::string_view name_in(std::string_view message) {
    ProtobufReader fields(message);
    while (const auto field = fields.next()) {
        if (field->number == 1 && field->is_bytes()) return field->bytes;
    }
    return {};
}

std::string joined(std::string_view scope, std::string_view name) {
    return scope.empty() ? std::string(name) : std::string(scope) + '.' + std::string(name);
}

File read_file(std::string_view bytes) {
    File file{
        .bytes = bytes, .name = {}, .package = {}, .imports = {}, .services = {}, .symbols = {}};
    ProtobufReader fields(bytes);
    while (const auto field = fields.next()) {
        if (!field->is_bytes()) continue;
        if (field->number == 1) file.name = field->bytes;
        if (field->number == 2) file.package = field->bytes;
        if (field->number == 3) file.imports.push_back(field->bytes);
        if (field->number == 4) file.symbols.push_back(joined(file.package, name_in(field->bytes)));
        if (field->number != 6) continue;
        const std::string service = joined(file.package, name_in(field->bytes));
        file.services.push_back(service);
        file.symbols.push_back(service);
        ProtobufReader parts(field->bytes);
        while (const auto part = parts.next()) {
            if (part->number == 2 && part->is_bytes())
                file.symbols.push_back(joined(service, name_in(part->bytes)));
        }
    }
    return file;
}

const std::vector<File>& files() {
    static const std::vector<File> read = [] {
        std::vector<File> all;
        ProtobufReader set(descriptor_set());
        while (const auto field = set.next()) all.push_back(read_file(field->bytes));
        return all;
    }();
    return read;
}

/// `file` after all that it imports, each once.
void append_with_imports(const File& file, std::vector<const File*>& found) {
    if (std::ranges::find(found, &file) != found.end()) return;
    for (const std::string_view import : file.imports) {
        for (const File& other : files()) {
            if (other.name == import) append_with_imports(other, found);
        }
    }
    found.push_back(&file);
}

template <class F>
void answer_file(ProtobufWriter& answer, F matches) {
    for (const File& file : files()) {
        if (!matches(file)) continue;
        std::vector<const File*> found;
        append_with_imports(file, found);
        std::string descriptors;
        for (const File* const each : found) ProtobufWriter(descriptors).message(1, each->bytes);
        answer.message(4, descriptors);
        return;
    }
    std::string error;
    ProtobufWriter(error).number(1, kNotFound).bytes(2, "no such file or symbol");
    answer.message(7, error);
}

void answer_question(std::string& out, std::string_view question) {
    ProtobufWriter answer(out);
    ProtobufReader fields(question);
    std::optional<ProtobufReader::Field> asked;
    while (const auto field = fields.next()) {
        if (field->number == 1) answer.bytes(1, field->bytes);
        if (field->number >= 3 && field->number <= 7) asked = field;
    }
    answer.message(2, question);
    const std::string_view name = asked ? asked->bytes : std::string_view();
    switch (asked ? asked->number : 0) {
        case 3: return answer_file(answer, [&](const File& file) { return file.name == name; });
        case 4:
            return answer_file(answer, [&](const File& file) {
                return std::ranges::find(file.symbols, name) != file.symbols.end();
            });
        case 7: {
            std::string services;
            for (const File& file : files()) {
                for (const std::string& service : file.services) {
                    std::string entry;
                    ProtobufWriter(entry).bytes(1, service);
                    ProtobufWriter(services).message(1, entry);
                }
            }
            answer.message(6, services);
            return;
        }
        default: break;  // extensions: proto3 has none
    }
    std::string error;
    ProtobufWriter(error)
        .number(1, kUnimplemented)
        .bytes(2, "files, symbols and services can be asked for");
    answer.message(7, error);
}

}  // namespace

Task<void> serve_reflection(net::GrpcCall call) {
    for (;;) {
        const Deadline due = std::min(call.deadline(), call.loop().now() + kPatience);
        const auto question = co_await call.read(due);
        if (!question) {
            call.finish(question.error());
            co_return;
        }
        if (!*question) break;
        answer_question(call.begin_message(), **question);
        call.end_message();
        const WaitEnd taken = co_await call.drained(net::GrpcCall::kMostMessageBytes, due);
        if (taken != WaitEnd::kWoken) break;
    }
    call.finish(net::GrpcStatus::kOk);
}

}  // namespace crab::sw4rm
