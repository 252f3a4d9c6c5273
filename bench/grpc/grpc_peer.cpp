// bench/grpc's other side on grpc++: an echo server, and a load that keeps calls in flight at it or
// at the gateway.
//
//   usage: grpc_peer serve
//          grpc_peer load --target HOST:PORT --tools A,B --in-flight N --warm-up S --seconds S
//          --server-pid PID [--token T] [--provider P] [--args JSON] [--stream 1]
//
// `serve` prints `ready port=N`. `load` prints one JSON object with the figures that bench_load
// has.
#include "tool.grpc.pb.h"

#include <grpcpp/grpcpp.h>

#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <fstream>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

namespace pb = sw4rm::tool;
using Steady = std::chrono::steady_clock;
constexpr std::size_t kFrame = 256 * 1024;

/// Gives the arguments back; a stream of as many bytes as `args` says in decimal digits.
class Echo final : public pb::ToolService::CallbackService {
    grpc::ServerUnaryReactor* Call(grpc::CallbackServerContext* context, const pb::ToolCall* call,
                                   pb::ToolFrame* frame) override {
        frame->set_call_id(call->call_id());
        frame->set_frame_no(1);
        frame->set_final(true);
        frame->set_content_type("application/json");
        frame->set_data(call->args());
        auto* reactor = context->DefaultReactor();
        reactor->Finish(grpc::Status::OK);
        return reactor;
    }
    grpc::ServerWriteReactor<pb::ToolFrame>* CallStream(grpc::CallbackServerContext*,
                                                        const pb::ToolCall* call) override {
        class Writer final : public grpc::ServerWriteReactor<pb::ToolFrame> {
        public:
            explicit Writer(const pb::ToolCall& wanted) : left_(std::stoull(wanted.args())) {
                frame_.set_call_id(wanted.call_id());
                frame_.set_content_type("application/octet-stream");
                next();
            }
            void OnWriteDone(bool ok) override {
                ok && !frame_.final() ? next() : Finish(grpc::Status::OK);
            }
            void OnDone() override { delete this; }

        private:
            void next() {
                const std::size_t size = std::min<std::uint64_t>(left_, kFrame);
                left_ -= size;
                frame_.set_frame_no(frame_.frame_no() + 1);
                frame_.mutable_data()->assign(size, 'x');
                frame_.set_final(left_ == 0);
                StartWrite(&frame_);
            }
            std::uint64_t left_;
            pb::ToolFrame frame_;
        };
        return new Writer(*call);
    }
};

int serve() {
    Echo echo;
    int port = 0;
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&echo);
    const auto server = builder.BuildAndStart();
    if (!server) return 1;
    std::printf("ready port=%d\n", port);
    std::fflush(stdout);
    server->Wait();
    return 0;
}

/// User and system time of a process so far, in seconds.
double cpu_of(const std::string& pid) {
    std::ifstream file("/proc/" + pid + "/stat");
    std::string text((std::istreambuf_iterator<char>(file)), {});
    text.erase(0, text.rfind(')') + 2);
    unsigned long user = 0, system = 0;
    std::sscanf(text.c_str(), "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user,
                &system);
    return static_cast<double>(user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

/// Keeps N calls in flight until it is told to stop.
class Load {
public:
    Load(std::map<std::string, std::string> options)
        : options_(std::move(options)),
          stub_(pb::ToolService::NewStub(
              grpc::CreateChannel(option("target"), grpc::InsecureChannelCredentials()))),
          streams_(option("stream") == "1") {
        const std::string names = option("tools");
        for (std::size_t at = 0; at <= names.size();) {
            const std::size_t end = std::min(names.find(',', at), names.size());
            tools_.push_back(names.substr(at, end - at));
            at = end + 1;
        }
    }

    void run() {
        const int lanes = std::stoi(option("in-flight"));
        for (int lane = 0; lane < lanes; ++lane)
            begin(static_cast<std::size_t>(lane) % tools_.size());
        sleep(option("warm-up"));
        const double cpu = cpu_of(option("server-pid")), own = cpu_of("self");
        {
            const std::scoped_lock lock(mutex_);
            measuring_ = true;
            took_.clear();
            failures_ = bytes_ = 0;
        }
        const auto began = Steady::now();
        sleep(option("seconds"));
        {
            const std::scoped_lock lock(mutex_);
            measuring_ = false;
        }
        const double seconds = std::chrono::duration<double>(Steady::now() - began).count();
        const double used = cpu_of(option("server-pid")) - cpu, own_used = cpu_of("self") - own;
        stopping_ = true;
        std::unique_lock lock(mutex_);
        ended_.wait(lock, [this] { return open_ == 0; });
        report(seconds, used, own_used);
    }

private:
    struct Unary {
        grpc::ClientContext context;
        pb::ToolCall call;
        pb::ToolFrame frame;
        Steady::time_point began = Steady::now();
        std::size_t tool = 0;
    };
    class Reader final : public grpc::ClientReadReactor<pb::ToolFrame> {
    public:
        Reader(Load& load, std::size_t tool) : load_(load) {
            load.fill(unary_, tool);
            unary_.call.set_stream(true);
            load.stub_->async()->CallStream(&unary_.context, &unary_.call, this);
            StartRead(&unary_.frame);
            StartCall();
        }
        void OnReadDone(bool ok) override {
            if (!ok) return;
            load_.bytes_ += unary_.frame.data().size();
            StartRead(&unary_.frame);
        }
        void OnDone(const grpc::Status& status) override {
            Load& load = load_;
            const std::size_t tool = unary_.tool;
            load.note(unary_, status);
            delete this;
            load.next(tool);
        }

    private:
        Load& load_;
        Unary unary_;
    };

    static void sleep(const std::string& seconds) {
        std::this_thread::sleep_for(std::chrono::duration<double>(std::stod(seconds)));
    }

    /// On any thread: nothing is put into the map, which operator[] would do.
    std::string option(const std::string& name, const std::string& otherwise = {}) const {
        const auto found = options_.find(name);
        return found == options_.end() ? otherwise : found->second;
    }
    void fill(Unary& unary, std::size_t tool) {
        unary.tool = tool;
        unary.call.set_call_id(std::to_string(::getpid()) + "-" + std::to_string(++ids_));
        unary.call.set_tool_name(tools_[tool]);
        unary.call.set_provider_id(option("provider"));
        unary.call.set_args(option("args", "{}"));
        if (const std::string token = option("token"); !token.empty())
            unary.context.AddMetadata("authorization", "Bearer " + token);
    }
    void begin(std::size_t tool) {
        ++open_;
        if (streams_) {
            new Reader(*this, tool);
            return;
        }
        auto* unary = new Unary;
        fill(*unary, tool);
        stub_->async()->Call(&unary->context, &unary->call, &unary->frame,
                             [this, unary, tool](const grpc::Status& status) {
                                 note(*unary, status);
                                 delete unary;
                                 next(tool);
                             });
    }
    void note(const Unary& unary, const grpc::Status& status) {
        const std::scoped_lock lock(mutex_);
        if (!measuring_) return;
        took_.push_back(
            std::chrono::duration<double, std::micro>(Steady::now() - unary.began).count());
        if (!status.ok() && failures_++ == 0)
            std::fprintf(stderr, "%s\n", status.error_message().c_str());
    }
    /// Once nothing is left of the call before it: after the last one the process ends, and with it
    /// what gRPC frees a call with.
    void next(std::size_t tool) {
        if (!stopping_) begin(tool);
        const std::scoped_lock lock(mutex_);
        if (--open_ == 0) ended_.notify_one();
    }
    void report(double seconds, double cpu, double own) {
        std::sort(took_.begin(), took_.end());
        const auto at = [&](double part) {
            return took_.empty()
                       ? 0.0
                       : took_[std::min(
                             took_.size() - 1,
                             static_cast<std::size_t>(part * static_cast<double>(took_.size())))];
        };
        const double calls = std::max<double>(1, static_cast<double>(took_.size()));
        std::printf(
            "{\"rate\": %.1f, \"cpu_us\": %.3f, \"load_cpu_us\": %.3f, \"p50_us\": %.1f, "
            "\"p99_us\": %.1f, \"failures\": %llu, \"answered\": %zu, \"mib_per_s\": %.2f, "
            "\"cpu_us_per_mib\": %.1f}\n",
            calls / seconds, cpu * 1e6 / calls, own * 1e6 / calls, at(0.5), at(0.99),
            static_cast<unsigned long long>(failures_), took_.size(),
            static_cast<double>(bytes_) / seconds / 1048576,
            bytes_ ? cpu * 1e6 / (static_cast<double>(bytes_) / 1048576) : 0.0);
    }

    const std::map<std::string, std::string> options_;
    std::unique_ptr<pb::ToolService::Stub> stub_;
    const bool streams_;
    std::vector<std::string> tools_;
    std::mutex mutex_;
    std::condition_variable ended_;
    std::vector<double> took_;  // microseconds
    std::uint64_t failures_ = 0;
    std::atomic<std::uint64_t> bytes_{0}, ids_{0};
    std::atomic<bool> stopping_{false};
    bool measuring_ = false;
    std::atomic<std::int64_t> open_{0};
};

}  // namespace

int main(int argc, char** argv) {
    const std::string mode = argc > 1 ? argv[1] : "";
    if (mode == "serve") return serve();
    if (mode != "load" || argc % 2 != 0) return 2;
    std::map<std::string, std::string> options;
    for (int i = 2; i + 1 < argc; i += 2) options[argv[i] + 2] = argv[i + 1];
    Load(std::move(options)).run();
    return 0;
}
