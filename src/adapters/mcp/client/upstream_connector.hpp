#pragma once

#include "adapters/mcp/client/upstream_session.hpp"
#include "adapters/mcp/wire/capabilities.hpp"
#include "adapters/mcp/wire/message_reader.hpp"
#include "base/process/child_supervisor.hpp"
#include "net/http/http_service.hpp"
#include "net/tls/tls_context.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace crab::mcp {

/// A server that runs as a child and speaks over its standard input and output.
struct UpstreamChild {
    std::vector<std::string> words;        ///< command and arguments; no shell
    std::vector<std::string> environment;  ///< `NAME=value`, all it gets
    std::string folder;                    ///< to run in; empty: the gateway's own
    /// Puts the program under a supervisor, or into a sandbox, before it starts; null: neither.
    /// Errors end the connection.
    std::function<Result<SupervisedProgram>(ChildProgram)> wrap;
};

/// Where an upstream is and how to speak with it: what its configuration comes to.
struct UpstreamOptions {
    /// `era:` of the configuration; other than kProbe it is not found out but taken as given.
    enum class EraChoice : std::uint8_t { kProbe, kModern, kLegacy, kSse };

    std::string source;  ///< its configured name; for errors and the log
    std::optional<UpstreamChild> child;  ///< or `url`
    std::string url;  ///< `http://` or `https://`, of the endpoint
    std::shared_ptr<net::TlsContext> tls;  ///< of its own, for `https://`; null: the common one
    net::OwnedHeaders headers;  ///< sent with every HTTP request; secrets
    /// Whose credential is used: of the gateway (empty), or a principal's; for the Authorizer
    std::string owner;
    EraChoice era = EraChoice::kProbe;
    std::optional<FoundEra> known;  ///< found before, not proven now: skips the probe
    RevisionSet enabled;  ///< `mcp.versions`
    Ask ask;
    /// Children or HTTP+SSE streams of each principal's own and one call at a time in each, so that
    /// questions have an owner; without it such upstreams are told of no capability (section 4.8)
    bool interactive = false;
    Milliseconds probe_timeout{5'000};
    Milliseconds start_timeout{60'000};
    std::size_t max_reply = kMaxReply;
    std::string client_info;  ///< an object: {"name", "version", …}
    /// Where the end of a child's standard error goes when it cannot be opened. It may hold
    /// secrets: for operators, never for callers or the log.
    std::shared_ptr<std::string> last_words;
    /// Counts what the server has sent that nobody had asked for, or could answer; several sessions
    /// may share it. Null: nobody counts.
    std::shared_ptr<std::atomic<std::uint64_t>> dropped;
};

/// A 401 or 403 of an upstream.
struct RefusedCredential {
    std::string challenge;  ///< its `WWW-Authenticate`
    std::string value;  ///< the `Authorization` that it was for; empty: none was sent
};

/// Gives the `Authorization` header of requests to an upstream. Thread-safe.
class Authorizer {
public:
    virtual ~Authorizer() = default;
    /// `refused`: what this request was refused with before; a value that others have replaced
    /// since counts for nothing. Nothing: send none. Asked before each request, so it answers from
    /// memory if it can.
    /// Errors: kAuthRequired with what a person has to do; kTimeout and kCancelled, of a caller
    /// whose `deadline` passed or who left while a token was obtained; others end the request as
    /// they are.
    virtual Task<Result<std::optional<std::string>>> authorization(
        const UpstreamOptions& upstream, std::optional<RefusedCredential> refused,
        Deadline deadline) = 0;
};

/// Opens sessions with upstreams, on one event loop.
class UpstreamConnector {
public:
    virtual ~UpstreamConnector() = default;
    /// Starts or reaches the server, finds out its era unless that is known, and opens the session,
    /// all within `start_timeout`. `answers`: what the callers of this session can answer, declared
    /// upstream as far as `ask` and the era allow; legacy sessions have it for good, on modern ones
    /// each request's inquirer counts. A `known` era that turns out wrong is probed anew.
    /// Errors: kUnavailable (not reached, child ended), kTimeout, kCancelled, kAuthRequired,
    /// kToolFailed (not MCP, or no common version).
    virtual Task<Result<std::shared_ptr<UpstreamSession>>> connect(
        UpstreamOptions options, core::Inquirer::Answers answers) = 0;
};

}  // namespace crab::mcp
