#include "hosts/command/worktree_tools.hpp"

#include "hosts/command/sandbox.hpp"

#include <stdexcept>

namespace crab::command {
namespace {

// Paths stand behind `./`, and values behind `--option=`, so that none of them reads as an option.
// Git is told to run nobody else's program; what its configuration in the worktree says otherwise
// fails for want of fork().

constexpr std::string_view kTools = R"json([
{"name":"read_file","title":"Read a file","description":"The text of one file of the worktree,)json"
                                    R"json( or the lines from first_line to last_line of it.",
 "argv":["sed","-n",{"if":"last_line","argv":["-e","1,{last_line}!{ q }"]},{"if":"first_line",)json"
                                    R"json("argv":["-e","{first_line},$!d"]},"-e","p","./{path}"],
 "input_schema":{"type":"object","required":["path"],"additionalProperties":false,"properties":{
   "path":{"type":"string","format":"worktree-path","description":"The file,)json"
                                    R"json( relative to the worktree."},
   "first_line":{"type":"integer","minimum":1,"description":"From this line, counted from 1."},
   "last_line":{"type":"integer","minimum":1,"description":"To this line, included."}}},
 "output":{"streams":"bytes","max_bytes":"4MiB"}},
{"name":"list_dir","title":"List a folder",)json"
                                    R"json("description":"What is in one folder: a line each )json"
                                    R"json(of type (f file, d folder, l link),)json"
                                    R"json( size in bytes and name, separated by tabs.",
 "argv":["find",{"if":"path","argv":["./{path}"]},"-mindepth","1","-maxdepth","1","-printf",)json"
                                    R"json("%y\\t%s\\t%f\\n"],
 "input_schema":{"type":"object","additionalProperties":false,"properties":{
   "path":{"type":"string","format":"worktree-path",)json"
                                    R"json("description":"The folder; left out: the worktree )json"
                                    R"json(itself."}}},
 "output":{"max_bytes":"4MiB"}},
{"name":"find_files","title":"Find files",)json"
                                    R"json("description":"Paths of files whose name fits a )json"
                                    R"json(pattern, below a folder; .git is left out.",
 "argv":["find",{"if":"path","argv":["./{path}"]},"-name",".git","-prune","-o","-type","f",)json"
                                    R"json("-name","{pattern}","-printf","%p\\n"],
 "input_schema":{"type":"object","required":["pattern"],"additionalProperties":false,"properties":{
   "pattern":{"type":"string","minLength":1,"maxLength":256,)json"
                                    R"json("description":"A name with * ? [ ],)json"
                                    R"json( such as *.md; it may not begin with -."},
   "path":{"type":"string","format":"worktree-path",)json"
                                    R"json("description":"The folder; left out: the worktree )json"
                                    R"json(itself."}}},
 "output":{"streams":"lines","max_bytes":"4MiB"}},
{"name":"search_text","title":"Search in files","description":"Lines that match a pattern,)json"
                                    R"json( as path:line:text; binary files and .git are left out.",
 "argv":["grep","-rnI","--exclude-dir=.git",{"if":"ignore_case","argv":["-i"]},{"if":"files",)json"
                                    R"json("argv":["--include={files}"]},
         "--max-count=200","-E","--regexp={pattern}","--",{"if":"path","argv":["./{path}"]}],
 "ok_exit":[0,1],
 "input_schema":{"type":"object","required":["pattern"],"additionalProperties":false,"properties":{
   "pattern":{"type":"string","minLength":1,"maxLength":4096,)json"
                                    R"json("description":"An extended regular expression."},
   "ignore_case":{"type":"boolean"},
   "files":{"type":"string","minLength":1,"maxLength":256,)json"
                                    R"json("description":"Only files whose name fits,)json"
                                    R"json( such as *.cpp."},
   "path":{"type":"string","format":"worktree-path",)json"
                                    R"json("description":"File or folder; left out: the )json"
                                    R"json(worktree itself."}}},
 "output":{"streams":"lines","max_bytes":"4MiB"}},
{"name":"git_status","title":"Git status","description":"Branch and changes of the worktree,)json"
                                    R"json( as git status --porcelain=v2 --branch.",
 "argv":["git","--no-optional-locks","status","--porcelain=v2","--branch"],)json"
                                    R"json("output":{"max_bytes":"4MiB"}},
{"name":"git_diff","title":"Git diff",)json"
                                    R"json("description":"Changes that are not committed: of )json"
                                    R"json(the files, or with staged of the index.",
 "argv":["git","--no-optional-locks","--no-pager","diff","--no-ext-diff","--no-textconv",)json"
                                    R"json("--no-color",{"if":"staged","argv":["--cached"]},)json"
                                    R"json("--",{"if":"path","argv":["./{path}"]}],
 "input_schema":{"type":"object","additionalProperties":false,"properties":{
   "staged":{"type":"boolean"},
   "path":{"type":"string","format":"worktree-path",)json"
                                    R"json("description":"File or folder; left out: everything."}}},
 "output":{"streams":"lines","max_bytes":"4MiB"}},
{"name":"git_log","title":"Git log","description":"The last commits: a line each of hash,)json"
                                    R"json( time, author and subject, separated by tabs.",
 "argv":["git","--no-optional-locks","--no-pager","log","--no-show-signature","--no-color",)json"
                                    R"json("--format=%H%x09%aI%x09%an%x09%s",)json"
                                    R"json("--max-count={count}","--",{"if":"path",)json"
                                    R"json("argv":["./{path}"]}],
 "input_schema":{"type":"object","required":["count"],"additionalProperties":false,"properties":{
   "count":{"type":"integer","minimum":1,"maximum":1000,"description":"How many."},
   "path":{"type":"string","format":"worktree-path","description":"Only commits that touch it."}}},
 "output":{"streams":"lines","max_bytes":"4MiB"}}
])json";

constexpr std::string_view kRun = R"json(
{"name":"run","title":"Run a shell line","description":"Gives one line to sh in the worktree,)json"
                                  R"json( without network; files of the worktree may change.",
 "argv":["sh","-c","{command}"],"needs_worktree":true,"side_effects":["filesystem","process"],
 "input_schema":{"type":"object","required":["command"],"additionalProperties":false,)json"
                                  R"json("properties":{"command":{"type":"string",)json"
                                  R"json("minLength":1,"maxLength":65536}}},
 "output":{"streams":"bytes","max_bytes":"8MiB"},"defaults":{"timeout":"60s",)json"
                                  R"json("privilege":"DEFAULT"}})json";

CommandTool read(const json::Value& item) {
    auto tool = read_command_tool(item);
    if (!tool) throw std::logic_error("a built-in command is not valid: " + tool.error().message);
    return std::move(*tool);
}

}  // namespace

std::vector<CommandTool> worktree_tools(bool with_run) {
    std::vector<CommandTool> tools;
    json::Value items = json::Value::parse(kTools).value();
    for (json::Value& item : *items.as_array()) {
        item.set("side_effects", json::Value::array());
        item.set("needs_worktree", true);
        item.set("idempotent", true);
        tools.push_back(read(item));
        // The worktree belongs to whoever the gateway runs as, or to somebody it was given by; the
        // sandbox is the guard.
        tools.back().environment = {{.name = "GIT_CONFIG_COUNT", .value = "1"},
                                    {.name = "GIT_CONFIG_KEY_0", .value = "safe.directory"},
                                    {.name = "GIT_CONFIG_VALUE_0", .value = "*"}};
    }
    if (with_run) tools.push_back(read(json::Value::parse(kRun).value()));
    std::erase_if(tools, [](const CommandTool& tool) { return !has_program(tool.argv.program()); });
    return tools;
}

}  // namespace crab::command
