#include "bridge/built_in/adapter_list.hpp"
#include "bridge/built_in/content_lines.hpp"
#include "bridge/built_in/evolution_data.hpp"
#include "bridge/built_in/json_members.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace crab::bridge {
namespace {

using json::Value;

class Contacts final : public Adapter {
public:
    explicit Contacts(const Sources& sources) : data_(sources, EvolutionData::Kind::kContacts) {}

    Task<Result<void>> check(Deadline deadline) override { return data_.check(deadline); }

    Task<Result<Value>> run(const std::string&, const Value& args, Deadline deadline) override {
        std::string expression = fmt::format("(contains \"x-evolution-any-field\" {})",
                                             quoted_for_evolution(text_in(args, "text")));
        const auto found = co_await data_.query(std::move(expression), deadline);
        if (!found) co_return fail(found.error());
        const auto limit = static_cast<std::size_t>(integer_in(args, "limit", 20));
        Value answer = Value::object();
        Value& contacts = answer.set("contacts", Value::array());
        std::size_t matches = 0;
        for (const auto& book : *found) {
            for (const std::string& card : book.items) {
                if (++matches <= limit) contacts.push_back(describe(card, book.collection));
            }
        }
        answer.set("matches", static_cast<std::int64_t>(matches));
        co_return answer;
    }

private:
    static Value describe(std::string_view card, const std::string& book) {
        Value contact = Value::object();
        const auto add = [&contact](std::string_view list, std::string_view member,
                                    const ContentLine& line) {
            Value* entries = contact.find(list);
            if (entries == nullptr) entries = &contact.set(list, Value::array());
            Value& entry = entries->push_back(Value::object({{std::string(member), line.text()}}));
            if (const std::string kind = line.parameter("TYPE"); !kind.empty())
                entry.set("kind", kind);
        };
        for (const ContentLine& line : parse_content_lines(card)) {
            if (line.name == "FN") contact.set("name", line.text());
            if (line.name == "NICKNAME") contact.set("nickname", line.text());
            if (line.name == "BDAY") contact.set("birthday", to_readable_time(line.value));
            if (line.name == "TITLE") contact.set("title", line.text());
            if (line.name == "NOTE") contact.set("note", line.text());
            if (line.name == "ORG")
                contact.set("organization", fmt::format("{}", fmt::join(line.parts(), ", ")));
            if (line.name == "EMAIL") add("emails", "address", line);
            if (line.name == "TEL") add("phones", "number", line);
        }
        contact.set("book", book);
        return contact;
    }

    EvolutionData data_;
};

constexpr std::string_view kFindContacts =
    R"({"type":"object","properties":{)"
    R"("text":{"type":"string","minLength":1,"description":"What a name, address,)"
    R"( number or any other field contains"},)"
    R"("limit":{"type":"integer","minimum":1,"maximum":200,"description":"Default 20"}},)"
    R"("required":["text"],"additionalProperties":false})";

}  // namespace

AdapterInfo contacts_adapter() {
    return {.label = "contacts",
            .name = "Contacts",
            .reads = "Evolution Data Server",
            .on = false,
            .tools = {{"search",
                       "Contacts in the address books of this person: names, e-mail addresses, "
                       "telephone numbers",
                       std::string(kFindContacts)}},
            .make = [](const Sources& sources) -> std::unique_ptr<Adapter> {
                return std::make_unique<Contacts>(sources);
            }};
}

}  // namespace crab::bridge
