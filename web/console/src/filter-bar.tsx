import { SafeText } from "@crab/web-shared/safe-text";
import { TextField } from "@crab/web-shared/field";
import { visible } from "@crab/web-shared/visible";
import { shortName } from "@crab/web-shared/words";

import { MOST_FILTER, parseFilter, without } from "./call-filter";
import "./filter-bar.css";
import { go, place } from "./place";
import { t } from "./strings/shell";

interface Props {
  readonly label: string;
  /** An example, in the place of the empty text. */
  readonly hint: string;
  /** The fields that `field:value` may name. */
  readonly fields?: readonly string[];
  /** The member of the address that holds the text. */
  readonly member?: string;
}

/** A filter as text, and each of its terms as a chip that a press drops; the address keeps it. */
export function FilterBar({ label, hint, fields, member = "filter" }: Props) {
  const filter = place.value.get(member) ?? "";
  const terms = parseFilter(filter, fields);
  return (
    <div class="filter" role="search">
      <TextField
        bare
        type="search"
        label={label}
        value={filter}
        most={MOST_FILTER}
        placeholder={hint}
        onValue={(text) => go({ [member]: text }, true)}
      />
      {terms.map((term, index) => (
        <button
          key={index}
          type="button"
          class="chip"
          aria-label={t("filter.drop", { term: visible(term.written) })}
          onClick={() => go({ [member]: without(terms, term) })}
        >
          <SafeText text={shortName(term.written)} /> <span aria-hidden="true">×</span>
        </button>
      ))}
    </div>
  );
}
