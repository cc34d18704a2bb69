# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Result rows, targets, and the tables that people read.

A question adds its rows and its targets; plots will be drawn from the same rows, one SVG file a
question beside latest.json.
"""

import json
import os
import statistics

from .procs import DISTURBED


def percentile(ordered, p):
    return ordered[min(len(ordered) - 1, round(p / 100 * (len(ordered) - 1)))]


def show(value, unit):
    if value is None:
        return "absent"
    text = f"{value:,.0f}" if unit == "" or abs(value) >= 1000 else f"{value:.3g}"
    return f"{text} {unit}".strip()


class Report:
    def __init__(self):
        self.rows = []
        self.targets = []
        self.notes = []
        self.noise = {}

    def add(self, question, case, system, metric, value, unit, samples):
        self.rows.append({"question": question, "case": case, "system": system, "metric": metric,
                          "value": round(value, 3), "unit": unit, "samples": samples})

    def noted_noise(self, question, case, system, foreign):
        """How many cores something else used, in the rounds that these rows come from."""
        self.noise[question, case, system] = statistics.median(foreign)

    def value(self, question, case, system, metric):
        for row in self.rows:
            if (row["question"], row["case"], row["system"], row["metric"]) == (
                    question, case, system, metric):
                return row["value"]
        return None

    def target(self, question, case, metric, against, factor, unit, against_case=None):
        """gander's value is at most `factor` times that of `against`, a system, in the same run."""
        bound = self.value(question, against_case or case, against, metric)
        goal = f"<= {self.ratio(factor)} {against}"
        self.judge(question, case, metric, unit, goal, bound, factor)

    def target_at_most(self, question, case, metric, bound, unit, goal=None):
        self.judge(question, case, metric, unit, goal or f"<= {show(bound, unit)}", bound, 1.0)

    @staticmethod
    def ratio(factor):
        return f"{factor:g}x" if factor >= 1 else f"1/{1 / factor:g} of"

    def judge(self, question, case, metric, unit, goal, bound, factor):
        value = self.value(question, case, "gander", metric)
        met = value is not None and bound is not None and value <= bound * factor
        self.targets.append([question, case, metric, show(value, unit), goal, show(bound, unit),
                             "yes" if met else "no"])

    def note(self, text):
        self.notes.append(text)

    def write(self, directory, machine):
        """`latest.json` holds the rows and nothing else; `machine.json` what they are true of."""
        os.makedirs(directory, exist_ok=True)
        for name, content in (("latest.json", self.rows), ("machine.json", machine)):
            scratch = os.path.join(directory, name + ".new")
            with open(scratch, "w") as out:
                json.dump(content, out, indent=1)
                out.write("\n")
            os.replace(scratch, os.path.join(directory, name))

    def tables(self):
        yield from self.measured()
        if self.targets:
            yield ""
            yield "| question | case | metric | gander | target | of | met |"
            yield "| --- | --- | --- | --- | --- | --- | --- |"
            for target in self.targets:
                yield "| " + " | ".join(target) + " |"
        if self.notes:
            yield ""
            yield from self.notes

    def measured(self):
        """One line for each case and system; the columns are its question's metrics."""
        header = None
        lines = {}
        for row in self.rows:
            line = lines.setdefault((row["question"], row["case"], row["system"]), {})
            line[row["metric"]] = show(row["value"], row["unit"])
            line["samples"] = str(row["samples"])
        for (question, case, system), line in lines.items():
            foreign = self.noise.get((question, case, system), 0.0)
            line["others"] = f"{foreign:.2f}" + (" (!)" if foreign > DISTURBED else "")
            columns = [m for m in line if m not in ("samples", "others")] + ["samples", "others"]
            if (question, columns) != header:
                if header:
                    yield ""
                yield "| question | case | system | " + " | ".join(columns) + " |"
                yield "| --- | --- | --- |" + " --- |" * len(columns)
                header = (question, columns)
            yield f"| {question} | {case} | {system} | " + " | ".join(
                line[c] for c in columns) + " |"
