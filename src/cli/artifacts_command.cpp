#include "base/descriptor.hpp"
#include "base/encoding.hpp"
#include "cli/admin_client.hpp"
#include "cli/commands.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/pretty_json.hpp"
#include "cli/output/table.hpp"
#include "crypto/digest.hpp"
#include "net/codec/url.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

namespace crab::cli {
namespace {

/// What the gateway tells of one artifact.
Result<json::Value> find(AdminClient& client, const std::string& id) {
    auto reply = accepted(client.get("/v1/artifacts"));
    if (!reply) return fail(reply.error());
    for (const json::Value& artifact : items_of(*reply, "artifacts")) {
        if (text_of(artifact, "id") == id) return artifact;
    }
    return fail(ErrorCode::kNotFound,
                "there is no such artifact, or it has expired; crab artifacts list shows those "
                "that are kept");
}

bool write_all(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t count = ::write(fd, bytes.data(), bytes.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
}

/// Fetches it into `fd` and compares the hash of what came.
Result<void> fetch(AdminClient& client, const json::Value& artifact, int fd) {
    crypto::Sha256 digest;
    bool written = true;
    const auto status = client.download(text_of(artifact, "href"), [&](std::string_view part) {
        digest.update(part);
        return written = write_all(fd, part);
    });
    if (!written)
        return fail(ErrorCode::kUnavailable, fmt::format("cannot write: {}", std::strerror(errno)));
    if (!status) return fail(status.error());
    if (*status != 200 || to_hex(digest.finish()) != text_of(artifact, "sha256")) {
        return fail(ErrorCode::kUnavailable,
                    "what came is not the artifact that was asked for; try again");
    }
    return {};
}

}  // namespace

int run(const ArtifactsList& options) {
    Result<AdminClient> client = AdminClient::make(options.target);
    if (!client) return report(client.error());
    const auto reply = accepted(client->get("/v1/artifacts"));
    if (!reply) return report(reply.error());
    if (options.output == Output::kJson) return print_json(*reply), kExitOk;
    Table table({"ARTIFACT", "BYTES", "TYPE", "TENANT", "TOOL", "CREATED", "UNTIL"});
    for (const json::Value& artifact : items_of(*reply, "artifacts")) {
        table.add({text_of(artifact, "id"), text_of(artifact, "bytes"),
                   text_of(artifact, "content_type"), text_of(artifact, "tenant_id"),
                   text_of(artifact, "tool"), text_of(artifact, "created_at"),
                   text_of(artifact, "expires_at")});
    }
    if (table.empty())
        print_line("No artifacts. Devices upload results beyond 256 KiB; each is kept for a day.");
    else
        print(table.to_text(Terminal::out()));
    return kExitOk;
}

int run(const ArtifactsGet& options) {
    Result<AdminClient> client = AdminClient::make(options.target);
    if (!client) return report(client.error());
    const auto artifact = find(*client, options.id);
    if (!artifact) return report(artifact.error());
    if (options.file == "-") {
        const auto fetched = fetch(*client, *artifact, STDOUT_FILENO);
        return fetched ? kExitOk : report(fetched.error());
    }
    const std::filesystem::path file = options.file.empty() ? options.id : options.file;
    const std::filesystem::path part = file.string() + ".part";
    const Descriptor out(
        ::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!out.is_open())
        return report(Error{
            .code = ErrorCode::kInvalidArgs,
            .message = fmt::format("cannot write {}: {}", part.string(), std::strerror(errno))});
    Result<void> fetched = fetch(*client, *artifact, out.get());
    if (fetched && ::rename(part.c_str(), file.c_str()) != 0)
        fetched = fail(ErrorCode::kInvalidArgs,
                       fmt::format("cannot write {}: {}", file.string(), std::strerror(errno)));
    if (!fetched) {
        ::unlink(part.c_str());
        return report(fetched.error());
    }
    print_line(printable(fmt::format("{}: {} bytes, {}", file.string(), text_of(*artifact, "bytes"),
                                     text_of(*artifact, "content_type"))));
    return kExitOk;
}

int run(const ArtifactsDelete& options) {
    Result<AdminClient> client = AdminClient::make(options.target);
    if (!client) return report(client.error());
    const auto reply = accepted(client->remove("/v1/artifacts/" + net::percent_encode(options.id)));
    if (!reply) return report(reply.error());
    print_line(printable(fmt::format("deleted {}", options.id)));
    return kExitOk;
}

}  // namespace crab::cli
