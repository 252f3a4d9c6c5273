"""What each legacy revision of MCP has: messages as tables, for docs/protocols/mcp.md, row 101.

The tables are closed: a member that a revision does not have is a problem, where the published
schemas allow any. Written from the published texts, not from the gateway."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Check = Callable[[Any, str, str], Iterator[str]]  #: value, its place, revision -> problems
L24, L03, L06, L11 = "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"


def _kind(name: str, *types: type) -> Check:
    def check(value: Any, at: str, _: str) -> Iterator[str]:
        if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
            yield f"{at}: no {name}"

    return check


text, boolean, mapping = _kind("text", str), _kind("boolean", bool), _kind("object", dict)
integer, number = _kind("integer", int), _kind("number", int, float)
token = _kind("text or integer", str, int)


def anything(_value: Any, _at: str, _version: str) -> Iterator[str]:
    yield from ()


def one_of(*values: Any) -> Check:
    def check(value: Any, at: str, _: str) -> Iterator[str]:
        if value not in values:
            yield f"{at}: {value!r} is none of {', '.join(map(repr, values))}"

    return check


def items(of: Check, most: int | None = None) -> Check:
    def check(value: Any, at: str, version: str) -> Iterator[str]:
        if not isinstance(value, list):
            yield f"{at}: no array"
            return
        if most is not None and len(value) > most:
            yield f"{at}: more than {most}"
        for index, each in enumerate(value):
            yield from of(each, f"{at}/{index}", version)

    return check


def values(of: Check) -> Check:
    """An object with any names."""

    def check(value: Any, at: str, version: str) -> Iterator[str]:
        yield from mapping(value, at, version)
        if isinstance(value, dict):
            for name, each in value.items():
                yield from of(each, f"{at}/{name}", version)

    return check


@dataclass(frozen=True)
class Member:
    check: Check
    since: str = L24
    needed: bool = False


def needed(check: Check, since: str = L24) -> Member:
    return Member(check, since, True)


def since(revision: str, check: Check) -> Member:
    return Member(check, revision)


def members(**table: Check | Member) -> Check:
    """An object with these members and no others; a trailing underscore is no part of a name."""
    known = {
        name.rstrip("_"): one if isinstance(one, Member) else Member(one)
        for name, one in table.items()
    }

    def check(value: Any, at: str, version: str) -> Iterator[str]:
        if not isinstance(value, dict):
            yield f"{at}: no object"
            return
        for name, one in known.items():
            if one.needed and one.since <= version and name not in value:
                yield f"{at}: without {name}"
        for name, each in value.items():
            member = known.get(name)
            if member is None or member.since > version:
                yield f"{at}/{name}: {version} has no such member"
            else:
                yield from member.check(each, f"{at}/{name}", version)

    return check


def by_type(**kinds: tuple[str, Check]) -> Check:
    """An object whose `type` says what it is; each kind with the revision that brought it."""

    def check(value: Any, at: str, version: str) -> Iterator[str]:
        kind = value.get("type") if isinstance(value, dict) else None
        first, of = kinds.get(str(kind), ("9", anything))
        if first > version:
            yield f"{at}: {version} has no type {kind!r}"
        else:
            yield from of(value, at, version)

    return check


# Objects

META = since(L06, mapping)
OPEN_META = mapping  # of params and results every revision has one
ROLE = one_of("user", "assistant")
LEVEL = one_of("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
ICONS = since(
    L11,
    items(members(src=needed(text), mimeType=text, sizes=items(text), theme=text)),
)
ANNOTATIONS = members(audience=items(ROLE), priority=number, lastModified=since(L06, text))


def contents(value: Any, at: str, version: str) -> Iterator[str]:
    """Of a resource: either text or bytes."""
    table = members(uri=needed(text), mimeType=text, text=text, blob=text, _meta=META)
    yield from table(value, at, version)
    if isinstance(value, dict) and ("text" in value) == ("blob" in value):
        yield f"{at}: text or blob, one of them"


def _block(**own: Check | Member) -> Check:
    return members(type=needed(text), annotations=ANNOTATIONS, _meta=META, **own)


_DATA = _block(data=needed(text), mimeType=needed(text))
_LINK = _block(
    uri=needed(text),
    name=needed(text),
    title=text,
    description=text,
    mimeType=text,
    size=integer,
    icons=ICONS,
)
BLOCK = by_type(
    text=(L24, _block(text=needed(text))),
    image=(L24, _DATA),
    audio=(L03, _DATA),
    resource=(L24, _block(resource=needed(contents))),
    resource_link=(L06, _LINK),
)
SAMPLED = by_type(text=(L24, _block(text=needed(text))), image=(L24, _DATA), audio=(L03, _DATA))


def input_schema(value: Any, at: str, version: str) -> Iterator[str]:
    yield from mapping(value, at, version)
    if isinstance(value, dict):
        if value.get("type") != "object":
            yield f"{at}: its root is no object"
        yield from values(mapping)(value.get("properties", {}), f"{at}/properties", version)
        yield from items(text)(value.get("required", []), f"{at}/required", version)


HINTS = members(
    title=text,
    readOnlyHint=boolean,
    destructiveHint=boolean,
    idempotentHint=boolean,
    openWorldHint=boolean,
)
TITLE = since(L06, text)
TOOL = members(
    name=needed(text),
    title=TITLE,
    description=text,
    inputSchema=needed(input_schema),
    outputSchema=since(L06, input_schema),
    annotations=since(L03, HINTS),
    icons=ICONS,
    execution=since(L11, members(taskSupport=one_of("forbidden", "optional", "required"))),
    _meta=META,
)
RESOURCE = members(
    uri=needed(text),
    name=needed(text),
    title=TITLE,
    description=text,
    mimeType=text,
    size=integer,
    annotations=ANNOTATIONS,
    icons=ICONS,
    _meta=META,
)
TEMPLATE = members(
    uriTemplate=needed(text),
    name=needed(text),
    title=TITLE,
    description=text,
    mimeType=text,
    annotations=ANNOTATIONS,
    icons=ICONS,
    _meta=META,
)
ARGUMENT = members(name=needed(text), title=TITLE, description=text, required=boolean)
PROMPT = members(
    name=needed(text),
    title=TITLE,
    description=text,
    arguments=items(ARGUMENT),
    icons=ICONS,
    _meta=META,
)
PROGRAM = members(
    name=needed(text),
    version=needed(text),
    title=TITLE,
    description=since(L11, text),
    websiteUrl=since(L11, text),
    icons=ICONS,
)
_CHANGES = members(listChanged=boolean)
CLIENT = members(
    roots=_CHANGES,
    sampling=members(context=since(L11, mapping), tools=since(L11, mapping)),
    elicitation=since(L06, members(form=since(L11, mapping), url=since(L11, mapping))),
    tasks=since(L11, mapping),
    experimental=mapping,
)
SERVER = members(
    tools=_CHANGES,
    resources=members(subscribe=boolean, listChanged=boolean),
    prompts=_CHANGES,
    logging=mapping,
    completions=since(L03, mapping),
    tasks=since(L11, mapping),
    experimental=mapping,
)


# Results, by the method that they answer


def _result(**own: Check | Member) -> Check:
    return members(_meta=OPEN_META, **own)


def _page(name: str, of: Check) -> Check:
    return _result(nextCursor=text, **{name: needed(items(of))})


_MESSAGE = members(role=needed(ROLE), content=needed(BLOCK))
_ANSWER = values(_kind("text, number, boolean or list", str, int, float, bool, list))
RESULTS: dict[str, Check] = {
    "initialize": _result(
        protocolVersion=needed(text),
        capabilities=needed(SERVER),
        serverInfo=needed(PROGRAM),
        instructions=text,
    ),
    "ping": _result(),
    "logging/setLevel": _result(),
    "resources/subscribe": _result(),
    "resources/unsubscribe": _result(),
    "tools/list": _page("tools", TOOL),
    "resources/list": _page("resources", RESOURCE),
    "resources/templates/list": _page("resourceTemplates", TEMPLATE),
    "prompts/list": _page("prompts", PROMPT),
    "tools/call": _result(
        content=needed(items(BLOCK)),
        structuredContent=since(L06, mapping),
        isError=boolean,
    ),
    "resources/read": _result(contents=needed(items(contents))),
    "prompts/get": _result(messages=needed(items(_MESSAGE)), description=text),
    "completion/complete": _result(
        completion=needed(
            members(values=needed(items(text, most=100)), total=integer, hasMore=boolean)
        )
    ),
    # of clients
    "elicitation/create": _result(
        action=needed(one_of("accept", "decline", "cancel")), content=_ANSWER
    ),
    "sampling/createMessage": _result(
        role=needed(ROLE), content=needed(SAMPLED), model=needed(text), stopReason=text
    ),
    "roots/list": _result(roots=needed(items(members(uri=needed(text), name=text, _meta=META)))),
}


# Params, of requests and notifications


def _form(value: Any, at: str, version: str) -> Iterator[str]:
    """What an elicitation shows: a flat object."""
    table = members(
        type=needed(one_of("object")),
        properties=needed(values(mapping)),
        required=items(text),
        **{"$schema": since(L11, text)},
    )
    yield from table(value, at, version)


def _elicitation(value: Any, at: str, version: str) -> Iterator[str]:
    if isinstance(value, dict) and value.get("mode") == "url" and version >= L11:
        own = {"mode": needed(text), "url": needed(text), "elicitationId": needed(text)}
    else:
        own = {"mode": since(L11, one_of("form")), "requestedSchema": needed(_form)}
    yield from _params(message=needed(text), **own)(value, at, version)


def _params(**own: Check | Member) -> Check:
    return members(_meta=OPEN_META, **own)


_URI = _params(uri=needed(text))
_PAGE = _params(cursor=text)
_SAMPLING = _params(
    messages=needed(items(members(role=needed(ROLE), content=needed(SAMPLED)))),
    maxTokens=needed(integer),
    modelPreferences=mapping,
    systemPrompt=text,
    includeContext=one_of("none", "thisServer", "allServers"),
    temperature=number,
    stopSequences=items(text),
    metadata=mapping,
    tools=since(L11, items(mapping)),
    toolChoice=since(L11, mapping),
)
_REFERENCE = by_type(
    **{
        "ref/prompt": (L24, members(type=needed(text), name=needed(text), title=TITLE)),
        "ref/resource": (L24, members(type=needed(text), uri=needed(text))),
    }
)
REQUESTS: dict[str, tuple[str, Check]] = {
    "initialize": (
        L24,
        _params(
            protocolVersion=needed(text), capabilities=needed(CLIENT), clientInfo=needed(PROGRAM)
        ),
    ),
    "ping": (L24, _params()),
    "tools/list": (L24, _PAGE),
    "resources/list": (L24, _PAGE),
    "resources/templates/list": (L24, _PAGE),
    "prompts/list": (L24, _PAGE),
    "tools/call": (
        L24,
        _params(name=needed(text), arguments=mapping, task=since(L11, mapping)),
    ),
    "resources/read": (L24, _URI),
    "resources/subscribe": (L24, _URI),
    "resources/unsubscribe": (L24, _URI),
    "prompts/get": (L24, _params(name=needed(text), arguments=values(text))),
    "completion/complete": (
        L24,
        _params(
            ref=needed(_REFERENCE),
            argument=needed(members(name=needed(text), value=needed(text))),
            context=since(L06, members(arguments=values(text))),
        ),
    ),
    "logging/setLevel": (L24, _params(level=needed(LEVEL))),
    "sampling/createMessage": (L24, _SAMPLING),
    "roots/list": (L24, _params()),
    "elicitation/create": (L06, _elicitation),
    "tasks/get": (L11, _params(taskId=needed(text))),
    "tasks/result": (L11, _params(taskId=needed(text))),
    "tasks/cancel": (L11, _params(taskId=needed(text))),
}
NOTIFICATIONS: dict[str, tuple[str, Check]] = {
    "notifications/initialized": (L24, _params()),
    "notifications/cancelled": (L24, _params(requestId=needed(token), reason=text)),
    "notifications/progress": (
        L24,
        _params(
            progressToken=needed(token),
            progress=needed(number),
            total=number,
            message=since(L03, text),
        ),
    ),
    "notifications/message": (
        L24,
        _params(level=needed(LEVEL), logger=text, data=needed(anything)),
    ),
    "notifications/tools/list_changed": (L24, _params()),
    "notifications/prompts/list_changed": (L24, _params()),
    "notifications/resources/list_changed": (L24, _params()),
    "notifications/roots/list_changed": (L24, _params()),
    "notifications/resources/updated": (L24, _URI),
    "notifications/elicitation/complete": (L11, _params(elicitationId=needed(text))),
}
_ERROR = members(code=needed(integer), message=needed(text), data=anything)
_FRAME = members(
    jsonrpc=needed(one_of("2.0")),
    id=token,
    method=text,
    params=mapping,
    result=mapping,
    error=_ERROR,
)


def problems(message: Any, version: str, answers: Mapping[Any, str]) -> list[str]:
    """What `version` does not have of one message; `answers` are the methods of the requests that
    went the other way, by id. An error to what could not be read has the id null."""
    if isinstance(message, dict) and "error" in message and message.get("id", 0) is None:
        message = {**message, "id": 0}
    found = list(_FRAME(message, "", version))
    if found:
        return found
    if "result" in message:
        method = answers.get(message.get("id"), "")
        if method not in RESULTS:
            return [f"a result of {method!r}, which no legacy revision has"]
        return list(RESULTS[method](message["result"], "/result", version))
    if "method" in message:
        known = REQUESTS if "id" in message else NOTIFICATIONS
        first, of = known.get(message["method"], ("9", anything))
        if first > version:
            return [f"{version} has no {message['method']}"]
        return list(of(message.get("params", {}), "/params", version))
    return [] if "error" in message else ["neither a request nor an answer"]
