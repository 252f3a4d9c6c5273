"""Rows, goals and notes of one run; printed as a table for people or as one JSON object."""

import json


def added(with_it, without):
    """What is above `without`; None, not measured, if either figure is missing, or if the
    difference is below nothing: then it is what runs differ by."""
    if with_it is None or without is None or with_it < without:
        return None
    return with_it - without


class Report:
    def __init__(self, name, machine, settings):
        self.name, self.machine, self.settings = name, machine, settings
        self.rows, self.goals, self.skipped, self.notes = [], [], [], []

    def row(self, **columns):
        self.rows.append(columns)

    def goal(self, name, value, limit, unit=""):
        """`value` at most `limit`; None: it could not be measured, which is neither met nor
        missed."""
        self.goals.append(
            {
                "name": name,
                "value": value,
                "limit": limit,
                "unit": unit,
                "met": None if value is None else value <= limit,
            }
        )

    def skip(self, name, reason):
        if (name, reason) not in [(skip["name"], skip["reason"]) for skip in self.skipped]:
            self.skipped.append({"name": name, "reason": reason})

    def missed(self):
        return any(goal["met"] is False for goal in self.goals)

    def unproven(self):
        """Missed, or not measured."""
        return any(not goal["met"] for goal in self.goals)

    def as_json(self):
        parts = ("name", "machine", "settings", "rows", "goals", "skipped", "notes")
        return json.dumps(
            {("benchmark" if part == "name" else part): getattr(self, part) for part in parts},
            indent=2,
        )

    def as_text(self):
        machine = self.machine
        lines = [
            f"bench/{self.name}  commit {machine['commit']}",
            f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_gib']} GiB; Linux "
            f"{machine['kernel']}; {machine['compiler']}",
            "  ".join(f"{key}={value}" for key, value in self.settings.items()),
        ]
        if machine["load_average"] > machine["cores"] / 2:
            lines.append(
                f"the machine was busy when the run began (load average "
                f"{machine['load_average']}): repeat it on an idle one"
            )
        if self.rows:
            lines += [""] + _table(self.rows)
        if self.goals:
            lines += ["", "goals"]
            for goal in self.goals:
                word = {True: "met", False: "MISSED", None: "not measured"}[goal["met"]]
                value = (
                    ""
                    if goal["value"] is None
                    else f"{_text(goal['value'])} {goal['unit']}".strip()
                )
                lines.append(
                    f"  {word:<13}{goal['name']}: {value} (at most {_text(goal['limit'])} "
                    f"{goal['unit']}".rstrip() + ")"
                )
        lines += [""] * bool(self.skipped) + [
            f"skipped {skip['name']}: {skip['reason']}" for skip in self.skipped
        ]
        lines += [""] * bool(self.notes) + self.notes
        return "\n".join(lines)


def _text(value):
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.2f}" if abs(value) < 100 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _table(rows):
    columns = list(dict.fromkeys(key for row in rows for key in row))
    cells = [columns] + [[_text(row.get(column)) for column in columns] for row in rows]
    widths = [max(len(line[i]) for line in cells) for i in range(len(columns))]
    texts = {
        i
        for i, column in enumerate(columns)
        if any(isinstance(row.get(column), str) for row in rows)
    }
    return [
        "  ".join(
            cell.ljust(width) if i in texts else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths))
        ).rstrip()
        for line in cells
    ]
