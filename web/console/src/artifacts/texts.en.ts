export const en = {
  count: "one artifact | {n} artifacts",
  delete: "Delete",
  "delete.of": "Delete the artifact of {tool}",
  "delete.sure": "Delete it?",
  "delete.what": "Whoever has its address gets nothing any more.",
  deleted: "The artifact of {tool} is deleted",
  "download.of": "Download the artifact of {tool}",
  downloaded: "The file is complete",
  expires: "gone {when}",
  none: "No artifact is kept",
  "none.why":
    "A result that is too large for an answer, such as a photo, is kept here for a while.",
  picture: "Picture of {tool}",
  call: "Its call",
};
