"""Check this bundle: do its answers give the outcomes, the chains and the boxes that it says?

    python check.py [FOLDER]

Needs Python 3.10 or later. Every file is compared with SHA256SUMS; then, image by image, by the rules that
README.md prints: votes give each question's outcome; links, verifications and rulings give the chains, and
the outcomes of a chain's box loop its boxes; these give the merge log, and with it the dataset, corpus.jsonl.
Each contradiction is a line with image, question and answers. The exit status is 1 where there is one.
"""

import hashlib
import json
import sys
from itertools import chain as concatenated
from itertools import combinations, groupby, pairwise, product
from pathlib import Path
from typing import Any

BOXED_AT_ONCE = {"people", "clothing", "bodyparts"}
CLOSED = {"BOXED", "NON_VISUAL", "EXCLUDED", "UNSEEN"}
#: Stage of the box loop -> its kind of question, the votes that settle it, what the first vote alone settles.
QUESTION_OF_STAGE = {
    "REQUIREMENT": ("box_requirement", 2, "BOX"),
    "DRAWING": ("box_drawing", 1, ""),
    "QUALITY": ("box_quality", 1, ""),
    "COVERAGE": ("box_coverage", 2, "MORE"),
}
#: Stage and outcome -> guards and next stages; the first whose guard holds.
BOX_LOOP = {
    ("REQUIREMENT", "BOX"): [("", "DRAWING")],
    ("REQUIREMENT", "NO_BOX"): [("", "NON_VISUAL")],
    ("DRAWING", "DRAWN"): [("", "QUALITY")],
    ("DRAWING", "NONE"): [("fruitless", "REVIEW"), ("no box", "REQUIREMENT"), ("", "COVERAGE")],
    ("QUALITY", "GOOD"): [("", "COVERAGE")],
    ("QUALITY", "BAD"): [("fruitless", "REVIEW"), ("", "DRAWING")],
    ("COVERAGE", "MORE"): [("room", "DRAWING"), ("", "REVIEW")],
    ("COVERAGE", "COMPLETE"): [("", "BOXED")],
    ("REVIEW", "RESUME"): [("pending", "QUALITY"), ("a box", "COVERAGE"), ("", "REQUIREMENT")],
    **{(stage, "FLAGGED"): [("", "REVIEW")] for stage in QUESTION_OF_STAGE},
}
BY_IMAGE = ("mentions", "answers", "rulings", "outcomes", "chains", "merges")


def settle(votes: Any, agreeing: Any, eager: Any = "") -> Any:
    """The first outcome with `agreeing` votes, or `eager` by the first vote alone; else None."""
    for number, vote in enumerate(votes):
        if votes[: number + 1].count(vote) >= agreeing or (number == 0 and vote == eager):
            return vote
    return None


def meaning(answer: Any) -> Any:
    """What an answer counts for."""
    words = {"box": "BOX", "scene": "NO_BOX", "none": "NO_BOX"} if answer["kind"] == "box_requirement" else {}
    return words.get(answer["answer"], answer["answer"].upper())


def by_model(answer: Any) -> Any:
    """Whether a model annotator gave an answer."""
    return answer.get("by") == "model"


def share_of_union(a: Any, b: Any) -> Any:
    """Intersection over union of two boxes, whose corners are pixels that belong to them."""
    wide, high = (max(0, min(a[i + 2], b[i + 2]) - max(a[i], b[i]) + 1) for i in (0, 1))
    areas = sum((box[2] - box[0] + 1) * (box[3] - box[1] + 1) for box in (a, b))
    return wide * high / (areas - wide * high)


def put_together(group_of: Any, a: Any, b: Any) -> Any:
    """Make one of two groups, where `group_of` has the group of each member."""
    group = group_of[a] | group_of[b]
    group_of.update(dict.fromkeys(group, group))


class RulingsInForce:
    """What reviewers ruled: `group` of mentions that are together, pairs that are `apart`, `unmergeable` ones
    whose boxes are too, `closed` chains, how often one `resumes`, `phrases`, `unrelated` captions."""

    def __init__(self, rows: Any, mentions: Any) -> None:
        self.group = {mention: {mention} for mention in mentions}
        self.apart, self.unmergeable = set[Any](), set[Any]()
        self.closed, self.resumes = dict[Any, Any](), dict[Any, Any]()
        rows = [row for row in rows if not row["withdrawn"]]
        self.phrases, self.unrelated = dict[Any, Any](), {row.get("caption") for row in rows} - {None}
        for row in rows:
            self.phrases.update(dict.fromkeys(row.get("removed", ())))
            for caption, start, end, words, categories, *noun in row.get("added", ()):
                row_now = [words, categories, (noun or words)[-1].casefold()]
                self.phrases[f"{caption}:{start}-{end}"] = None if caption in self.unrelated else row_now
            chain, resumes = frozenset(row.get("mentions", ())), row["kind"] == "resume"
            if chain and self.group.keys() >= chain:
                self.closed[chain] = None if resumes else row
                self.resumes[chain] = self.resumes.get(chain, 0) + resumes
        for row in reversed(rows):
            if row["kind"] == "partition":
                groups = [[mention for mention in group if mention in self.group] for group in row["groups"]]
                for pair in concatenated.from_iterable(map(pairwise, groups)):
                    self._unite(*pair)
                for pair in concatenated.from_iterable(product(*both) for both in combinations(groups, 2)):
                    self._part(*pair, self.apart)
            elif row["kind"] == "keep_apart" and self.group.keys() >= {row["a"], row["b"]}:
                self._part(row["a"], row["b"], self.apart)
                self._part(row["a"], row["b"], self.unmergeable)

    def _unite(self, a: Any, b: Any) -> Any:
        if not any(pair in self.apart for pair in product(self.group[a], self.group[b])):
            put_together(self.group, a, b)

    def _part(self, a: Any, b: Any, pairs: Any) -> Any:
        if self.group[a] is not self.group[b]:
            pairs |= {(a, b), (b, a)}

    def chains_apart(self, chain_of: Any, pairs: Any) -> Any:
        """The pairs of chains that hold mentions of `pairs`, or mentions together with those."""
        every = {pair for a, b in pairs for pair in product(self.group[a], self.group[b])}
        return {(chain_of[a], chain_of[b]) for a, b in every if a in chain_of and b in chain_of}


class ImageReplay:
    """One image, followed from its answers to its chains and boxes. `problems`: the contradictions."""

    def __init__(self, image: Any, rows: Any, settings: Any) -> None:
        self.image, self.rows, self.settings = image, rows, settings
        self.problems, self.chains, self.position = list[Any](), list[Any](), dict[Any, Any]()
        self.votes, self.recorded = dict[Any, Any](), dict[Any, Any]()
        self.mentions = {row["mention"]: row for row in rows["mentions"]}
        self.order = {mention: number for number, mention in enumerate(self.mentions)}
        self.rulings = RulingsInForce(rows["rulings"], self.mentions)
        self.answers = {row["id"]: row for row in rows["answers"]}
        workers, counted = set(), [row for row in rows["answers"] if not row["withdrawn"]]
        self.counting = [row for row in counted if row["role"] == "vote"]
        for row in counted:
            again = (row["key"], row["worker"]) in workers and not (by_model(row) and row["box"])
            workers.add((row["key"], row["worker"]))
            if row["role"] == "vote" and not again:
                self.votes.setdefault(row["key"], []).append(row)
        for row in rows["outcomes"]:
            self.recorded.setdefault(row["key"], []).append(row)

    def say(self, problem: Any) -> Any:
        """Note a contradiction."""
        self.problems.append(f"image {self.image['image']}: {problem}")

    def take(self, key: Any, rule: Any, opening: Any = (), barred: Any = "", flags: Any = frozenset()) -> Any:
        """The next recorded outcome of a question, which its votes must give by `rule` (agreeing votes, eager
        outcome), and the last answer to it; (None, None) where none is recorded. `opening`: the votes with
        which the round opens; `barred`: who may not answer; `flags`: who reported the chain before."""
        row = self.recorded[key].pop(0) if self.recorded.get(key) else None
        queue, votes, read, flags = self.votes.get(key, []), list(opening), [], set(flags)
        index, outcome, last = self.position.get(key, 0), settle(list(opening), *rule), dict[Any, Any]()
        while outcome is None and index < len(queue):
            last, index = queue[index], index + 1
            if last["worker"] == barred:
                continue
            read.append([last["id"], last["flag"] or last["answer"]])
            if last["flag"]:
                flags.add(last["worker"])
                outcome = "FLAGGED" if len(flags) >= self.settings["flags_to_review"] else None
            else:
                votes.append(meaning(last))
                outcome = settle(votes, *rule)
        if row is None:
            if outcome is not None:
                self.say(f"{key}: answers {vote_ids(read)} give {outcome}, and no outcome is recorded")
            return None, None
        if (outcome, read) != (row["outcome"], row["votes"]):
            self.say(differing(key, outcome, read, row))
            names = [vote["id"] for vote in queue]
            index = max([names.index(name) + 1 for name, _ in row["votes"] if name in names], default=index)
            last = self.answers.get(row["votes"][-1][0], {}) if row["votes"] else {}
        elif row["outcome"] == "DRAWN" and last["box"] != row["box"]:
            self.say(f"{key}: answer {last['id']} draws {last['box']}; recorded is {row['box']}")
        self.position[key] = index
        return row, last

    def count(self) -> Any:
        """Questions that so many people answer, whatever they say."""
        for _, key, needed in self.image["questions"]:
            votes = [row for row in self.counting if row["key"] == key]
            answers = [row for row in votes if not row["flag"]][:needed]
            reports = len({row["worker"] for row in votes if row["flag"]})
            reported = "FLAGGED" if reports >= self.settings["flags_to_review"] else None
            outcome = "ANSWERED" if len(answers) == needed else reported
            read = [[row["id"], row["answer"]] for row in answers] if outcome else []
            row = self.recorded[key].pop(0) if self.recorded.get(key) else {"outcome": None, "votes": []}
            if (outcome, read) != (row["outcome"], row["votes"]):
                self.say(differing(key, outcome, read, row))
            elif outcome and (pairs := tally(answers)) != row["pairs"]:
                self.say(f"{key}: answers {vote_ids(read)} give {pairs}; recorded is {row['pairs']}")

    def in_order(self, mentions: Any) -> Any:
        """Mentions in the order of the captions."""
        return tuple(sorted(mentions, key=self.order.__getitem__))

    def follow(self) -> Any:
        """Phrases are as ruled; links and rulings put them together; each chain is verified and boxed."""
        for name, fields in self.rulings.phrases.items():
            row = self.mentions.get(name)
            if (row and [row["words"], row["categories"], row["head"]]) != fields:
                self.say(f"phrase {name}: it is {row}; by the rulings {fields}")
        unfinished = {m for row in self.rows["chains"] if row["stage"] == "LINKING" for m in row["mentions"]}
        together, held = {mention: {mention} for mention in self.mentions}, set[Any]()
        pairs = [(a, b) for a, group in self.rulings.group.items() for b in group if a != b]
        self.model_links, flags = list[Any](), dict[Any, Any]()
        for key in [key for key in self.recorded if key.startswith("coref_link|")]:
            placed, pair = self.recorded[key][0]["placed"], key.split("|")[1:]
            row, _ = self.take(key, (self.settings["link_votes"] // 2 + 1, ""), flags=flags.get(placed, ()))
            flags.setdefault(placed, set()).update(self.reporters(row))
            if row["outcome"] == "FLAGGED":
                held.add(placed)
            elif row["outcome"] == "YES":
                pairs.append(pair)
                if any(by_model(self.answers.get(name, {})) for name, _ in row["votes"]):
                    self.model_links.append(set(pair))
        for pair in pairs:
            put_together(together, *pair)
        for mentions in {self.in_order(group) for group in together.values() if not unfinished & group}:
            self.box(mentions, held=True) if held & set(mentions) else self.verify(mentions)
        mine = {chain["mentions"]: chain for chain in self.chains}
        for row in self.rows["chains"]:
            chain = mine.pop(tuple(row["mentions"]), None)
            if row["stage"] == "LINKING":
                self.add(tuple(row["mentions"]), "LINKING")
            elif chain is None:
                self.say(f"chain {row['mentions']}: it is recorded, and answers and rulings do not give it")
            for name in [n for n in ("stage", "kind", "boxes", "by_model") if chain and chain[n] != row[n]]:
                self.say(f"chain {row['mentions']}: answers give {name} {chain[name]}, not {row[name]}")
        self.problems += [f"chain {[*m]}: answers give it, and it is not recorded" for m in mine]

    def reporters(self, row: Any) -> Any:
        """Who reported something instead of answering, among those read for an outcome."""
        return {a["worker"] for a in (self.answers.get(name) for name, _ in row["votes"]) if a and a["flag"]}

    def verify(self, mentions: Any) -> Any:
        """A chain that is refused falls into the sets of its mentions that share a head noun."""
        chain, group = frozenset(mentions), self.rulings.group
        if len(chain) < 2 or chain <= group[mentions[0]] or self.rulings.closed.get(chain):
            return self.box(mentions)
        key = f"chain_verification|{' '.join(mentions)}|"
        row, _ = self.take(key, (self.settings["verification_votes"] // 2 + 1, ""))
        if row is None:
            return self.add(mentions, "VERIFICATION")
        if row["outcome"] != "FALSE":
            return self.box(mentions, held=row["outcome"] == "FLAGGED")
        sets, heads = list[Any](), {mention: self.mentions[mention]["head"] for mention in mentions}
        for mention in mentions:
            alike = {m for m in mentions if heads[m] == heads[mention]} | group[mention]
            touching = [entity for entity in sets if entity & alike]
            sets = [entity for entity in sets if entity not in touching] + [alike.union(*touching) & chain]
        if len(sets) == 1:
            return self.box(mentions, held=True)
        for part in map(self.in_order, sets):
            self.verify(part) if any(pair <= chain for pair in self.model_links) else self.box(part)

    def add(self, mentions: Any, stage: Any, boxes: Any = (), models: Any = (), kind: Any = "") -> Any:
        """Note a chain as chains.jsonl has it."""
        row = {"mentions": mentions, "stage": stage, "kind": kind, "boxes": [*boxes], "by_model": [*models]}
        self.chains.append(row)

    def box(self, mentions: Any, held: Any = False) -> Any:
        """Follow a chain through the box loop; where it is `held`, it enters at review."""
        chain = frozenset(mentions)
        ruling, resumes = self.rulings.closed.get(chain), self.rulings.resumes.get(chain, 0)
        if ruling is not None:
            # Who drew a box that a reviewer kept is taken as recorded.
            rows = [row for row in self.rows["chains"] if tuple(row["mentions"]) == mentions]
            kind, boxes = ruling.get("as", ""), ruling.get("boxes", ())
            stage = "BOXED" if boxes else "EXCLUDED" if kind == "excluded" else "NON_VISUAL"
            models = rows[0]["by_model"] if rows else [False for _ in boxes]
            return self.add(mentions, stage, boxes, models, "" if kind == "excluded" else kind)
        if self.image["boxes"] == "never" and (not held or resumes):
            return self.add(mentions, "UNSEEN")
        categories = {name for mention in mentions for name in self.mentions[mention]["categories"]}
        stage = "REVIEW" if held else "DRAWING" if categories & BOXED_AT_ONCE else "REQUIREMENT"
        boxes, pending, fruitless, kind = list[Any](), None, 0, ""
        opening, flags = list[Any](), set[Any]()
        while stage not in CLOSED:
            row, last, outcome = dict[Any, Any](), dict[Any, Any](), "RESUME" if resumes else None
            if stage == "REVIEW":
                resumes -= 1
            else:
                row, last = self.ask(stage, mentions, boxes, pending, opening, flags)
                outcome = row and row["outcome"]
            if outcome is None:
                break
            limits, guards = self.settings["limits"], {"": True, "no box": not boxes, "a box": boxes}
            guards |= {"pending": pending, "room": len(boxes) < limits["boxes"]}
            guards |= {"fruitless": fruitless >= limits["fruitless"]}
            following = [after for guard, after in BOX_LOOP.get((stage, outcome), ()) if guards[guard]]
            if not following:
                self.say(f"chain {[*mentions]}: {outcome} is no outcome of {stage}")
                break
            stage, flags, opening = following[0], flags | self.reporters(row or {"votes": []}), []
            if outcome == "NO_BOX":
                named = [word for _, word in row["votes"]]
                kind = "scene" if named.count("scene") >= named.count("none") else "none"
            elif outcome == "DRAWN":
                pending = (row["box"], last or {"id": None, "worker": None})
            elif outcome == "GOOD":
                boxes, pending, fruitless = [*boxes, pending], None, 0
            elif outcome == "BAD":
                pending, fruitless = None, fruitless + 1
            elif outcome == "NONE":
                fruitless, opening = fruitless + 1, ["NO_BOX"] if stage == "REQUIREMENT" else []
            elif outcome == "RESUME":
                fruitless, flags = 0, set()
        self.add(mentions, stage, [b for b, _ in boxes], [by_model(answer) for _, answer in boxes], kind)

    def ask(self, stage: Any, mentions: Any, boxes: Any, pending: Any, opening: Any, flags: Any) -> Any:
        """What is recorded of a chain's question, which whoever drew the newest box may not judge."""
        kind, agreeing, eager = QUESTION_OF_STAGE[stage]
        drawn = f"{pending[1]['id']}|{','.join(map(str, pending[0]))}" if stage == "QUALITY" else ""
        named = drawn or " ".join(mentions)
        accepted = ";".join(",".join(map(str, box)) for box in sorted(box for box, _ in boxes))
        key, barred = f"{kind}|{named}|{accepted}", ""
        if stage in ("QUALITY", "COVERAGE"):
            barred = (pending or boxes[-1])[1]["worker"]
        if stage == "COVERAGE" and self.settings["saving"]["coverage_by_count"]:
            # How many things the phrases name follows from their language alone: it is taken as recorded.
            counts = [row["count"] for row in self.rows["chains"] if tuple(row["mentions"]) == mentions]
            eager = "COMPLETE" if counts and 0 < counts[0] <= len(boxes) else eager
        return self.take(key, (agreeing, eager), opening, barred, flags)

    def merge(self, record: Any) -> Any:
        """Boxes, then chains, become one; the log and the dataset, `record`, must say the same."""
        for n in self.rulings.unrelated:
            marked = not record or record["captions"][n].get("unrelated")
            if not marked or any(name.startswith(f"{n}:") for name in self.mentions):
                self.say(f"caption {n}: it was ruled unrelated, and has phrases or is not marked")
        chains = sorted(self.chains, key=lambda chain: self.order[chain["mentions"][0]])
        chains = [chain for chain in chains if chain["stage"] != "EXCLUDED"]
        boxes = []
        for number, chain in enumerate(chains):
            # Of two equal boxes of a chain both count as the model's where one is.
            by_models = [box for box, model in zip(chain["boxes"], chain["by_model"], strict=True) if model]
            boxes += [(number, tuple(box), box in by_models) for box in chain["boxes"]]
        log, clusters, groups = [], [([n], n) for n in range(len(boxes))], [[n] for n in range(len(chains))]
        if all(chain["stage"] in CLOSED for chain in self.chains):
            log, clusters, groups = merged(chains, boxes, self)
        recorded = [{n: value for n, value in row.items() if n != "image"} for row in self.rows["merges"]]
        if log != recorded:
            self.say(f"merging gives {log}; recorded is {recorded}")
        group_of = {}
        for group in groups:
            mentions = frozenset(mention for n in group for mention in chains[n]["mentions"])
            group_of.update(dict.fromkeys(group, mentions))
        mine = set[Any](("chain", (group,)) for group in group_of.values())
        for members, survivor in clusters:
            named = frozenset(group_of[boxes[n][0]] for n in members)
            mine.add(("box", named, boxes[survivor][1], boxes[survivor][2]))
        boxless = [(frozenset([group_of[n]]), chain["kind"]) for n, chain in enumerate(chains)]
        mine |= {("no box", named, kind == "scene") for named, kind in boxless if kind}
        theirs = dataset_of(record) if record else mine
        for thing in mine ^ theirs:
            what, mentions, *more = thing
            where = "by the answers" if thing in mine else "in corpus.jsonl"
            self.say(f"{what} {sorted(map(sorted, mentions))} {more}: {where} alone")


def merged(chains: Any, boxes: Any, followed: Any) -> Any:
    """The merge log; the clusters of boxes that become one, as (members, survivor); the groups of chains."""
    rules, named = followed.settings["merging"], [chain["mentions"][0] for chain in chains]
    chain_of = {mention: n for n, chain in enumerate(chains) for mention in chain["mentions"]}
    apart = followed.rulings.chains_apart(chain_of, followed.rulings.unmergeable)
    distinct = apart | followed.rulings.chains_apart(chain_of, followed.rulings.apart)
    kinds = [{k for m in chain["mentions"] for k in followed.mentions[m]["categories"]} for chain in chains]

    def forbidden(a: Any, b: Any, pairs: Any) -> Any:
        never = [(x, y) for pair in rules["never"] for x, y in (pair, pair[::-1])]
        return (a, b) in pairs or any(x in kinds[a] and y in kinds[b] for x, y in never)

    ranks = [(model, -len(chains[chain]["mentions"])) for chain, _, model in boxes]
    log, pairs, cluster = [], [], {n: ([n], n) for n in range(len(boxes))}
    for i, j in combinations(range(len(boxes)), 2):
        least = rules["iou_other" if "other" in kinds[boxes[i][0]] | kinds[boxes[j][0]] else "iou"]
        if (iou := share_of_union(boxes[i][1], boxes[j][1])) >= least:
            pairs.append((-iou, i, j))
    for negative, i, j in sorted(pairs):
        first, second = cluster[i], cluster[j]
        mine, theirs = ({boxes[n][0] for n in members} for members, _ in (first, second))
        if first is second or mine & theirs or any(forbidden(*pair, apart) for pair in product(mine, theirs)):
            continue
        stays, goes = sorted((first, second), key=lambda c: (ranks[c[1]], c[1]))
        joined = [[*boxes[n][1]] for n in ((i, j) if stays is first else (j, i))]
        names = [named[boxes[survivor][0]] for _, survivor in (stays, goes)]
        log.append({"what": "boxes", "chains": names, "boxes": joined, "iou": -negative})
        stays[0].extend(goes[0])
        cluster.update(dict.fromkeys(goes[0], stays))
    clusters = [*{id(c): c for c in cluster.values()}.values()]
    depicted, groups = [set[Any]() for _ in chains], list[Any]()
    for members, survivor in clusters:
        for n in members:
            depicted[boxes[n][0]].add(survivor)
    for n in sorted(range(len(chains)), key=lambda n: -len(chains[n]["mentions"])):
        alike = [group for group in groups if depicted[n] and depicted[group[0]] == depicted[n]]
        alike = [group for group in alike if not any(forbidden(n, m, distinct) for m in group)]
        alike[0].append(n) if alike else groups.append([n])
    for group in (group for group in groups if len(group) > 1):
        shared = [[*boxes[n][1]] for n in sorted(depicted[group[0]])]
        log.append({"what": "chains", "chains": [named[n] for n in group], "boxes": shared, "iou": 1.0})
    return log, clusters, groups


def dataset_of(record: Any) -> Any:
    """The chains and boxes of a line of corpus.jsonl, chains by their mentions."""
    chains, things = {}, set()
    for chain in record["layer"]["chains"]:
        places = [(mention["caption"], mention["start"], mention["end"]) for mention in chain["mentions"]]
        chains[chain["id"]] = frozenset(f"{caption}:{start}-{end}" for caption, start, end in places)
        things.add(("chain", (chains[chain["id"]],)))
    for thing in record["layer"]["objects"]:
        box = [tuple(thing["box"]), thing.get("by_model", False)] if "box" in thing else [thing["scene"]]
        named = frozenset(chains[name] for name in thing["chains"])
        things.add(("box" if "box" in thing else "no box", named, *box))
    return things


def tally(answers: Any) -> Any:
    """Of pages: how many said yes to each pair of image and caption, and how many were asked."""
    pairs = dict[str, Any]()
    for pair in (pair for answer in answers for pair in answer.get("pairs", ())):
        if pair["role"] != "control":
            yes, number = pairs.get(f"{pair['image']} {pair['caption']}", (0, 0))
            pairs[f"{pair['image']} {pair['caption']}"] = [yes + pair["yes"], number + 1]
    return pairs


def vote_ids(votes: Any) -> Any:
    """The ids of votes as a message names them."""
    return ", ".join(str(name) for name, _ in votes)


def differing(key: Any, outcome: Any, read: Any, row: Any) -> Any:
    """That answers do not give what is recorded."""
    named = vote_ids(row["votes"]) or vote_ids(read)
    return f"{key}: answers {named} give {outcome} by {read}, not {row['outcome']} by {row['votes']}"


def image_problems(image: Any, rows: Any, settings: Any, record: Any = None) -> Any:
    """The contradictions in the rows of an image, by file, and in its line of corpus.jsonl."""
    followed = ImageReplay(image, rows, settings)
    if image["questions"]:
        followed.count()
    else:
        followed.follow()
        followed.merge(record)
    for row in concatenated.from_iterable(followed.recorded.values()):
        votes = vote_ids(row["votes"])
        followed.say(f"{row['key']}: {row['outcome']} is recorded by answers {votes}: nothing asks it")
    return followed.problems


def json_lines(file: Any) -> Any:
    """The rows of a file, one a line."""
    with open(file, encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def checksum_problems(folder: Any) -> Any:
    """The files that are not as SHA256SUMS has them."""
    for line in (folder / "SHA256SUMS").read_text(encoding="utf-8").splitlines():
        digest, name = line.split("  ", 1)
        if not (folder / name).is_file():
            yield f"{name}: missing"
        elif hashlib.sha256((folder / name).read_bytes()).hexdigest() != digest:
            yield f"{name}: its checksum is not the one in SHA256SUMS"


def images_of(folder: Any) -> Any:
    """Each image with its rows by file, its settings, and its line of corpus.jsonl where it is complete."""
    settings = {row["version"]: row["settings"] for row in json_lines(folder / "settings.jsonl")}
    files = {n: groupby(json_lines(folder / f"{n}.jsonl"), lambda row: row["image"]) for n in BY_IMAGE}
    heads: dict[str, Any] = {name: next(groups, (None, ())) for name, groups in files.items()}
    corpus = json_lines(folder / "corpus.jsonl")
    for image in json_lines(folder / "images.jsonl"):
        rows = {}
        for name, (head, group) in [*heads.items()]:
            rows[name] = [*group] if head == image["image"] else []
            heads[name] = next(files[name], (None, ())) if head == image["image"] else (head, group)
        yield image, rows, settings[image["settings"]], next(corpus) if image["complete"] else None
    for name, (head, _) in heads.items():
        if head is not None:
            raise ValueError(f"{name}.jsonl: image {head} is not where images.jsonl has it")


def main(arguments: Any) -> Any:
    """Check the folder that is named, or the script's own."""
    folder = Path(arguments[0]) if arguments else Path(__file__).resolve().parent
    problems, images, outcomes = [*checksum_problems(folder)], 0, 0
    for image, rows, settings, record in images_of(folder):
        images, outcomes = images + 1, outcomes + len(rows["outcomes"])
        problems += image_problems(image, rows, settings, record)
    print("\n".join([*problems, f"{images} images, {outcomes} outcomes: {len(problems)} contradictions"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
