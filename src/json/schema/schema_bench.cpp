// What one message costs: parse it, take its arguments' bytes, check them against a schema.

#include "json/parser.hpp"
#include "json/schema/schema.hpp"
#include "json/writer.hpp"

#include <benchmark/benchmark.h>

namespace crab::json {
namespace {

constexpr std::string_view kMessage =
    R"({"type":"tool_call","id":"0190b7c2-3f5e-7a31-9c55-5f1f6b1d2a77","tool":"lights.set",)"
    R"("args":{"room":"kitchen","level":70,"fade_ms":250},"timeout_ms":5000,"session_id":"s-12",)"
    R"("trace_id":"4bf92f3577b34da6a3ce"})";

constexpr std::string_view kArguments =
    R"({"query":"weather in Lisbon for the coming weekend","limit":25,"unit":"celsius",)"
    R"("language":"en-GB","include_hourly":true,"threshold":0.75,"location":{"latitude":38.7223,)"
    R"("longitude":-9.1393,"name":"Lisbon"},"tags":["weather","travel","weekend","portugal"],)"
    R"("request":"req-2024-abc-0001"})";

constexpr std::string_view kSchema = R"({
  "type": "object",
  "properties": {
    "query": {"type": "string", "minLength": 1, "maxLength": 200},
    "limit": {"type": "integer", "minimum": 1, "maximum": 100},
    "unit": {"enum": ["celsius", "fahrenheit", "kelvin"]},
    "language": {"type": "string", "pattern": "^[a-z]{2}(-[A-Z]{2})?$"},
    "include_hourly": {"type": "boolean"},
    "threshold": {"type": "number", "minimum": 0, "exclusiveMaximum": 1},
    "location": {
      "type": "object",
      "properties": {
        "latitude": {"type": "number", "minimum": -90, "maximum": 90},
        "longitude": {"type": "number", "minimum": -180, "maximum": 180},
        "name": {"type": "string"}
      },
      "required": ["latitude", "longitude"],
      "additionalProperties": false
    },
    "tags": {"type": "array", "items": {"type": "string", "maxLength": 32}, "maxItems": 10,)"
                                     R"( "uniqueItems": true},
    "request": {"type": "string", "pattern": "^req-[0-9]{4}-[a-z]+-[0-9]+$"}
  },
  "required": ["query", "limit"],
  "additionalProperties": false
})";

void BM_ParseMessage(benchmark::State& state) {
    Parser parser;
    for (auto _ : state) benchmark::DoNotOptimize(parser.parse(kMessage));
    state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * kMessage.size()));
}
BENCHMARK(BM_ParseMessage);

void BM_ParseAndTakeArguments(benchmark::State& state) {
    Parser parser;
    for (auto _ : state) {
        const auto root = parser.parse(kMessage);
        benchmark::DoNotOptimize(root->raw_member("args"));
    }
}
BENCHMARK(BM_ParseAndTakeArguments);

void BM_TakeArguments(benchmark::State& state) {
    Parser parser;
    const auto root = parser.parse(kMessage);
    for (auto _ : state) benchmark::DoNotOptimize(root->raw_member("args"));
}
BENCHMARK(BM_TakeArguments);

void BM_ValidateArguments(benchmark::State& state) {
    Parser parser;
    const auto root = parser.parse(kArguments);
    const auto schema = *Schema::compile(kSchema);
    if (!schema->is_valid(root->element())) state.SkipWithError("the arguments should be valid");
    for (auto _ : state) benchmark::DoNotOptimize(schema->is_valid(root->element()));
}
BENCHMARK(BM_ValidateArguments);

void BM_ParseAndValidateArguments(benchmark::State& state) {
    Parser parser;
    const auto schema = *Schema::compile(kSchema);
    for (auto _ : state)
        benchmark::DoNotOptimize(schema->is_valid(parser.parse(kArguments)->element()));
}
BENCHMARK(BM_ParseAndValidateArguments);

void BM_CompileSchema(benchmark::State& state) {
    for (auto _ : state) benchmark::DoNotOptimize(Schema::compile(kSchema));
}
BENCHMARK(BM_CompileSchema);

void BM_UniqueStrings(benchmark::State& state) {
    std::string text = "[";
    for (std::int64_t i = 0; i < state.range(0); ++i) text += fmt::format("\"item-{}\",", i);
    text.back() = ']';
    Parser parser;
    const auto root = parser.parse(text);
    const auto schema = *Schema::compile(R"({"uniqueItems":true})");
    for (auto _ : state) benchmark::DoNotOptimize(schema->is_valid(root->element()));
}
BENCHMARK(BM_UniqueStrings)->Arg(10)->Arg(1'000)->Arg(100'000);

void BM_WriteFrame(benchmark::State& state) {
    std::string out;
    for (auto _ : state) {
        out.clear();
        Writer writer(out);
        writer.begin_object()
            .key("type")
            .string("tool_call")
            .key("id")
            .string("0190b7c2-3f5e-7a31-9c55-5f1f6b1d2a77");
        writer.key("args").raw(kArguments).key("timeout_ms").integer(5000).end_object();
        benchmark::DoNotOptimize(out.data());
    }
}
BENCHMARK(BM_WriteFrame);

void BM_QuoteText(benchmark::State& state) {
    const std::string text(static_cast<std::size_t>(state.range(0)), 'x');
    std::string out;
    for (auto _ : state) {
        out.clear();
        append_quoted(out, text);
        benchmark::DoNotOptimize(out.data());
    }
    state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_QuoteText)->Arg(36)->Arg(4'096);

}  // namespace
}  // namespace crab::json
