export const en = {
  delete: "Delete",
  "delete.of": "Delete {name}",
  "delete.sure": "Delete {name}?",
  "delete.what":
    "What was said goes, pictures too, and a turn that runs ends. Its calls stay in the audit " +
    "log, what was told as events stays in the events.",
  deleted: "{name} is deleted",
  messages: "one message | {n} messages",
  name: "Name",
  new: "New chat",
  none: "Nothing was said yet",
  "none.why": "A chat, or a turn that an event has started, is a session and stands here.",
  "no.hit": "No session fits",
  "no.hit.drop": "Drop the search.",
  rename: "Rename",
  "rename.of": "Rename {name}",
  renamed: "It is called {name} now",
  save: "Save",
  search: "Search sessions",
};
