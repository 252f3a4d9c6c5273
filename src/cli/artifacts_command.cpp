#include "base/descriptor.hpp"
#include "base/encoding.hpp"
#include "cli/admin_client.hpp"
#include "cli/commands.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/listing.hpp"
#include "cli/output/pretty_json.hpp"
#include "cli/output/terminal.hpp"
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
Result<void> fetch_into(AdminClient& client, const json::Value& artifact, int fd) {
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
    static const Listing kArtifacts{
        .members = {"artifacts"},
        .name = by_member("id"),
        .columns = {column("ARTIFACT", "id"), column("BYTES", "bytes"),
                    column("TYPE", "content_type"), column("TENANT", "tenant_id"),
                    column("TOOL", "tool"), column("CREATED", "created_at"),
                    column("UNTIL", "expires_at"), wide_column("SHA256", "sha256")},
        .empty = "No artifacts. Devices upload results beyond 256 KiB; each is kept for a day."};
    return show_list([&] { return fetch(options.target, "/v1/artifacts"); }, kArtifacts,
                     options.output);
}

int run(const ArtifactsGet& options) {
    Result<AdminClient> client = AdminClient::make(options.target);
    if (!client) return report(client.error());
    const auto artifact = find(*client, options.id);
    if (!artifact) return report(artifact.error());
    if (options.file == "-") {
        const auto fetched = fetch_into(*client, *artifact, STDOUT_FILENO);
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
    Result<void> fetched = fetch_into(*client, *artifact, out.get());
    if (fetched && ::rename(part.c_str(), file.c_str()) != 0)
        fetched = fail(ErrorCode::kInvalidArgs,
                       fmt::format("cannot write {}: {}", file.string(), std::strerror(errno)));
    if (!fetched) {
        ::unlink(part.c_str());
        return report(fetched.error());
    }
    return show_done(*artifact, options.output, file.string(),
                     fmt::format("{}: {} bytes, {}", file.string(), text_of(*artifact, "bytes"),
                                 text_of(*artifact, "content_type")));
}

int run(const ArtifactsDelete& options) {
    if (!may_go_on(options.yes, fmt::format("Delete the artifact {}?", options.id)))
        return kExitFailed;
    Result<AdminClient> client = AdminClient::make(options.target);
    if (!client) return report(client.error());
    const auto reply = accepted(client->remove("/v1/artifacts/" + net::percent_encode(options.id)));
    if (!reply) return report(reply.error());
    return show_done(*reply, options.output, options.id, fmt::format("deleted {}", options.id));
}

}  // namespace crab::cli
